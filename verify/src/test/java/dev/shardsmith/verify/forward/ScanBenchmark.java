package dev.shardsmith.verify.forward;

import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/**
 * Where the time of the chunked scan goes, for the sizes of a Mamba-2 layer of 8 billion parameters.
 *
 * <p>Times its matrix products alone, with the calls that the scan makes, its exponentials alone, and the whole; the rest is
 * copies, scaling and stores. Rates are per second of processor time, times the number of processors, so that other programs on
 * the machine do not lower them. Arguments: tokens (2048), the machine's peak in GFLOP/s (0 if not known).
 */
public final class ScanBenchmark {
    private static final int HEADS = 128;
    private static final int HEAD_DIM = 64;
    private static final int GROUPS = 8;
    private static final int STATE = 128;
    private static final int BLOCK_HEADS = 8;
    private static final int CHUNK = ChunkedScan.CHUNK;
    private static final int WIDTH = BLOCK_HEADS * HEAD_DIM;
    private static final int REPETITIONS = 6;

    private ScanBenchmark() {}

    /** Prints one line a part. */
    public static void main(String[] args) {
        int tokens = args.length > 0 ? Integer.parseInt(args[0]) : 2048;
        double peak = args.length > 1 ? Double.parseDouble(args[1]) : 0;
        int blocks = HEADS / BLOCK_HEADS;
        int chunks = tokens / CHUNK;
        ScanProblem problem = problem(tokens);
        double whole = best(() -> ChunkedScan.run(problem));
        double perChunk = (double) blocks * chunks;
        double all = 0;
        double operations = 0;
        Part[] parts = {
            new Part("C · state", 2.0 * CHUNK * STATE * WIDTH, CHUNK, STATE, WIDTH),
            new Part("B · x into the state", 2.0 * CHUNK * STATE * WIDTH, STATE, CHUNK, WIDTH),
            new Part("C · B", 2.0 * CHUNK * STATE * CHUNK, CHUNK, STATE, CHUNK),
            new Part("mixing · x, lower half", 1.0 * CHUNK * (CHUNK + 1) * WIDTH, 0, 0, WIDTH)
        };
        System.out.printf(
                Locale.ROOT, "| part of the scan, %d tokens | share of time | GFLOP/s | of the peak |%n", tokens);
        System.out.println("|---|---|---|---|");
        for (Part part : parts) {
            double seconds = best(() -> IntStream.range(0, blocks).parallel().forEach(part.work(chunks)));
            line(part.name, seconds, whole, part.operations * perChunk, peak);
            all += seconds;
            operations += part.operations * perChunk;
        }
        double exponentials = best(() -> exponentials(problem));
        line("softplus and decay of each step", exponentials, whole, 0, peak);
        line("decays within chunks, copies, scaling, stores", whole - all - exponentials, whole, 0, peak);
        line("all matrix products", all, whole, operations, peak);
        line("whole scan", whole, whole, operations, peak);
        System.out.printf(Locale.ROOT, "%nwhole scan: %.3f s of processor time%n", whole);
    }

    /** A product of [rows, inner] and [inner, width], or with no rows the mixing of one chunk. */
    private record Part(String name, double operations, int rows, int inner, int width) {
        IntConsumer work(int chunks) {
            return block -> {
                float[][] y = RankUpdate.rows(Math.max(rows, CHUNK), width);
                float[][] b = RankUpdate.rows(Math.max(inner, CHUNK), width);
                float[] a = new float[Math.max(rows * inner, CHUNK * CHUNK)];
                for (int chunk = 0; chunk < chunks; chunk++) {
                    if (rows > 0) {
                        RankUpdate.addAll(y, 0, rows, b, 0, inner, new RankUpdate.Factors(a, 0, inner, 1), 0, width);
                        continue;
                    }
                    for (int h = 0; h < BLOCK_HEADS; h++) {
                        ScanBlock.addTriangle(y, b, a, CHUNK, CHUNK, h * HEAD_DIM, (h + 1) * HEAD_DIM);
                    }
                }
            };
        }
    }

    private static void exponentials(ScanProblem problem) {
        ScanShape shape = problem.shape();
        double[] sums = new double[shape.heads()];
        IntStream.range(0, shape.heads()).parallel().forEach(head -> {
            double rate = -Math.exp(problem.aLog()[head]);
            for (int t = 0; t < shape.length(); t++) {
                double step = TimeStep.SOFTPLUS.of(problem.dt()[t * shape.heads() + head]);
                sums[head] += step + Math.exp(step * rate);
            }
        });
        if (Double.isNaN(sums[0])) {
            throw new IllegalStateException("not a number");
        }
    }

    private static void line(String name, double seconds, double whole, double operations, double peak) {
        int processors = Runtime.getRuntime().availableProcessors();
        double rate = operations / seconds * processors / 1e9;
        System.out.printf(
                Locale.ROOT,
                "| %s | %.0f %% | %s | %s |%n",
                name,
                100 * seconds / whole,
                operations > 0 ? String.format(Locale.ROOT, "%.0f", rate) : "",
                operations > 0 && peak > 0 ? String.format(Locale.ROOT, "%.0f %%", 100 * rate / peak) : "");
    }

    /** The least processor time of several runs, in seconds. */
    private static double best(Runnable work) {
        double best = Double.POSITIVE_INFINITY;
        for (int i = 0; i < REPETITIONS; i++) {
            double start = processorSeconds();
            work.run();
            best = Math.min(best, processorSeconds() - start);
        }
        return best;
    }

    private static double processorSeconds() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .map(time -> time.toNanos() / 1e9)
                .orElse(Double.NaN);
    }

    private static ScanProblem problem(int tokens) {
        ScanShape shape = new ScanShape(1, tokens, HEADS, HEAD_DIM, GROUPS, STATE);
        return ScanProblem.of(
                        shape,
                        numbers(tokens * shape.inner(), 1, 0),
                        numbers(tokens * HEADS, 1, -2),
                        numbers(HEADS, 1, 1.5),
                        numbers(tokens * shape.groupState(), 1, 0),
                        numbers(tokens * shape.groupState(), 1, 0))
                .withTimeStep(java.util.Optional.empty(), TimeStep.SOFTPLUS);
    }

    private static float[] numbers(int count, double scale, double mean) {
        SplittableRandom random = new SplittableRandom(count);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) (mean + scale * (2 * random.nextDouble() - 1));
        }
        return values;
    }
}
