package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanShape;
import dev.shardsmith.verify.forward.TimeStep;
import dev.shardsmith.verify.forward.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * Measures a Mamba-2 layer of an 8-billion-parameter model: the scan alone, and one rank against eight.
 *
 * <p>Run its {@code main} with {@code -Xmx8g}; arguments: tokens (2048), repetitions (3).
 */
public final class LayerBenchmark {
    private static final int WIDTH = 4096;
    private static final int HEADS = 128;
    private static final int HEAD_DIM = 64;
    private static final int GROUPS = 8;
    private static final int STATE = 128;
    private static final int INNER = HEADS * HEAD_DIM;
    private static final int COLUMNS = GROUPS * STATE;

    private LayerBenchmark() {}

    /** Prints one line a measurement. */
    public static void main(String[] args) throws IOException {
        int tokens = args.length > 0 ? Integer.parseInt(args[0]) : 2048;
        int repetitions = args.length > 1 ? Integer.parseInt(args[1]) : 3;
        ForwardBackend backend = new CpuBackend();
        System.out.printf("processors %d%n", Runtime.getRuntime().availableProcessors());
        for (int i = 0; i < repetitions; i++) {
            scan(backend, tokens);
        }
        for (int i = 0; i < repetitions; i++) {
            product(backend, tokens);
        }
        LayeredModel one = model(1);
        LayeredModel eight = model(8);
        CheckOptions options = new CheckOptions(1, tokens, 0, layer -> true, Optional.empty());
        for (int i = 0; i < repetitions; i++) {
            long start = System.nanoTime();
            double processor = processorSeconds();
            CheckReport report = new ForwardCheck(backend, one, eight, options).run(row -> {});
            LayerRow row = report.rows().get(1);
            System.out.printf(
                    Locale.ROOT,
                    "layer TP1 against TP8, %d tokens: %.2f s (processor time %.2f s), agrees %s, difference %.2g, bound %.2g, size %.3g%n",
                    tokens,
                    (System.nanoTime() - start) / 1e9,
                    processorSeconds() - processor,
                    row.ok(),
                    row.maxAbs(),
                    row.bound(),
                    row.size());
        }
    }

    private static void scan(ForwardBackend backend, int tokens) {
        ScanShape shape = new ScanShape(1, tokens, HEADS, HEAD_DIM, GROUPS, STATE);
        ScanProblem problem = ScanProblem.of(
                shape,
                normals(tokens * INNER, 1, 0, 1),
                normals(tokens * HEADS, 1, -2, 2),
                normals(HEADS, 0.7, 1.5, 3),
                normals(tokens * COLUMNS, 1, 0, 4),
                normals(tokens * COLUMNS, 1, 0, 5));
        long start = System.nanoTime();
        double processor = processorSeconds();
        backend.scan(problem);
        double seconds = (System.nanoTime() - start) / 1e9;
        double chunk = Math.min(256, tokens);
        double work = tokens * (GROUPS * chunk * STATE + HEADS * chunk * HEAD_DIM + 4.0 * HEADS * HEAD_DIM * STATE);
        System.out.printf(
                Locale.ROOT,
                "scan, %d tokens: %.3f s (processor time %.2f s), %.1f GFLOP/s in its products%n",
                tokens,
                seconds,
                processorSeconds() - processor,
                work / seconds / 1e9);
    }

    private static void product(ForwardBackend backend, int tokens) {
        float[] x = normals(tokens * WIDTH, 1, 0, 6);
        float[] w = normals(WIDTH * WIDTH, 1, 0, 7);
        long start = System.nanoTime();
        double processor = processorSeconds();
        backend.linear(backend.upload(x), backend.upload(w), Optional.empty(), tokens, WIDTH, WIDTH);
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(
                Locale.ROOT,
                "product %d × %d × %d: %.3f s (processor time %.2f s), %.1f GFLOP/s%n",
                tokens,
                WIDTH,
                WIDTH,
                seconds,
                processorSeconds() - processor,
                2.0 * tokens * WIDTH * WIDTH / seconds / 1e9);
    }

    private static LayeredModel model(int ranks) {
        int heads = HEADS / ranks;
        int inner = INNER / ranks;
        int columns = COLUMNS / ranks;
        WeightSource in = weights((2 * INNER + 2 * COLUMNS + HEADS) * WIDTH, 1 / Math.sqrt(WIDTH), 0, 11);
        WeightSource conv = weights((INNER + 2 * COLUMNS) * 4, 0.4, 0, 12);
        WeightSource out = weights(WIDTH * INNER, 1 / Math.sqrt(INNER), 0, 13);
        List<Mamba2Mixer.Shard> shards = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            shards.add(new Mamba2Mixer.Shard(
                    heads,
                    GROUPS / ranks,
                    0,
                    share(in, WIDTH, rank, ranks, INNER, INNER, COLUMNS, COLUMNS, HEADS),
                    Optional.empty(),
                    share(conv, 4, rank, ranks, INNER, COLUMNS, COLUMNS),
                    Optional.empty(),
                    weights(HEADS, 0.7, -2, 14).rows(1, rank * heads, heads),
                    weights(HEADS, 0.7, 1.5, 15).rows(1, rank * heads, heads),
                    weights(HEADS, 0.2, 1, 16).rows(1, rank * heads, heads),
                    Optional.of(weights(INNER, 0.1, 1, 17).rows(1, rank * inner, inner)),
                    columns(out, rank * inner, inner)));
        }
        Mamba2Mixer.Options options =
                new Mamba2Mixer.Options(HEAD_DIM, STATE, TimeStep.SOFTPLUS, INNER / GROUPS, 1e-5f, false);
        Mamba2Mixer mixer = new Mamba2Mixer(WIDTH, options, shards, Optional.empty());
        PreNorm norm = new PreNorm(Norm.rms(1e-5f), weights(WIDTH, 0.1, 1, 18), Optional.empty());
        WeightSource vocabulary = weights(64 * WIDTH, 1, 0, 19);
        return new LayeredModel(
                WIDTH,
                List.of(vocabulary),
                1,
                List.of(new Block(0, "mamba", norm, List.of(mixer))),
                Optional.of(norm),
                List.of(vocabulary),
                1);
    }

    private static WeightSource share(WeightSource whole, int width, int rank, int ranks, int... sizes) {
        List<WeightSource> parts = new ArrayList<>();
        int start = 0;
        for (int size : sizes) {
            parts.add(whole.rows(width, start + rank * (size / ranks), size / ranks));
            start += size;
        }
        return ranks == 1 ? whole : loaded(WeightSource.concat(parts));
    }

    private static WeightSource columns(WeightSource whole, int from, int count) {
        if (count == INNER) {
            return whole;
        }
        float[] all = load(whole);
        float[] part = new float[WIDTH * count];
        for (int row = 0; row < WIDTH; row++) {
            System.arraycopy(all, row * INNER + from, part, row * count, count);
        }
        return WeightSource.of(part);
    }

    private static WeightSource loaded(WeightSource view) {
        return WeightSource.of(load(view));
    }

    private static float[] load(WeightSource weight) {
        try {
            return weight.load();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static WeightSource weights(int count, double scale, double mean, long seed) {
        return WeightSource.of(normals(count, scale, mean, seed));
    }

    /** Processor time of all threads, which other programs on the machine do not lengthen much. */
    private static double processorSeconds() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .map(time -> time.toNanos() / 1e9)
                .orElse(Double.NaN);
    }

    /** Sums of four uniform numbers are near enough to normal here. */
    private static float[] normals(int count, double scale, double mean, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            long bits = random.nextLong();
            double sum = (short) bits + (short) (bits >> 16) + (short) (bits >> 32) + (short) (bits >> 48);
            values[i] = (float) (mean + scale * sum / 37837);
        }
        return values;
    }
}
