package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionShape;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.ScanShape;
import dev.shardsmith.verify.forward.TimeStep;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Locale;
import java.util.random.RandomGenerator;

/**
 * Times every kernel on this machine's card, by events of the driver: the median of many calls after a warm-up, each call
 * alone and 20 in a row, beside the bytes and operations that it needs at least.
 */
public final class GpuTimings {
    private static final int SINGLE = 31;
    private static final int ROW = 20;
    /** Datasheet rates of the card that the figures are set against. */
    private static final double FLOAT_RATE = 67e12;

    private static final double BYTE_RATE = 4.8e12;

    private final Gpu gpu;
    private final PrintStream out;
    private final RandomGenerator random = Cases.random(1);

    private GpuTimings(Gpu gpu, PrintStream out) {
        this.gpu = gpu;
        this.out = out;
    }

    /** Prints the table. */
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        out.println(GpuReport.find());
        Gpu gpu = Gpu.open(JCudaDriverCalls.start(), 0);
        try {
            GpuTimings timings = new GpuTimings(gpu, out);
            timings.layers();
            for (int length : new int[] {4096, 32_768}) {
                for (int groups : new int[] {1, 8}) {
                    timings.scans(length, groups);
                }
            }
        } finally {
            gpu.close();
        }
    }

    private GpuArray numbers(long count, double scale, double mean) throws CheckpointException {
        float[] block = ScanCases.normals(random, (int) Math.min(count, 1 << 20), scale, mean);
        float[] all = new float[Math.toIntExact(count)];
        for (int at = 0; at < all.length; at += block.length) {
            System.arraycopy(block, 0, all, at, Math.min(block.length, all.length - at));
        }
        return gpu.upload(all);
    }

    private void time(String what, double bytes, double operations, Gpu.Work work) throws CheckpointException {
        for (int i = 0; i < 3; i++) {
            work.run();
        }
        double[] single = new double[SINGLE];
        double[] row = new double[5];
        for (int i = 0; i < single.length; i++) {
            single[i] = gpu.milliseconds(work);
        }
        for (int i = 0; i < row.length; i++) {
            row[i] = gpu.milliseconds(() -> {
                        for (int k = 0; k < ROW; k++) {
                            work.run();
                        }
                    })
                    / ROW;
        }
        Arrays.sort(single);
        Arrays.sort(row);
        double median = row[row.length / 2];
        double floor = Math.max(bytes / BYTE_RATE, operations / FLOAT_RATE) * 1e3;
        out.printf(
                Locale.ROOT,
                "%-34s %9.4f ms alone %9.4f ms in a row %7.0f GB/s %6.1f TFLOP/s  floor %8.4f ms (%.1f x)%n",
                what,
                single[single.length / 2],
                median,
                bytes / median / 1e6,
                operations / median / 1e9,
                floor,
                median / floor);
    }

    private void layers() throws CheckpointException {
        LayerKernels kernels = new LayerKernels(gpu);
        long count = 1L << 26;
        GpuArray x = numbers(count, 1, 0);
        GpuArray small = numbers(1 << 20, 1, 0);
        double once = 4.0 * count;
        time(
                "activate silu, 64 Mi",
                2 * once,
                0,
                () -> kernels.activate(x, Activation.SILU).close());
        time(
                "gate silu, 64 Mi",
                3 * once,
                0,
                () -> kernels.gate(x, x, Activation.SILU).close());
        time("add, 64 Mi", 3 * once, 0, () -> kernels.add(x, x, -1).close());
        time(
                "rms norm, 8192 x 8192, groups 1024",
                2 * once,
                0,
                () -> kernels.normalize(x, Norm.rms(1e-5f), small, null, 8192, 8192, 1024)
                        .close());
        time(
                "convolution, 8192 x 8192, 4 taps",
                2 * once,
                8.0 * count,
                () -> kernels.convolve(x, small, null, 1, 8192, 8192, 4, Activation.SILU)
                        .close());
        time("compare, 64 Mi", 2 * once, 0, () -> kernels.compare(x, x, null, 0));
        time("row norms, 8192 x 8192", once, 0, () -> kernels.perRow("row_norms", x, 8192, 8192));
        GpuArray weight = numbers(18_560L * 4096, 1, 0);
        for (int rows : new int[] {128, 256, 2048}) {
            double bytes = 4.0 * (18_560.0 * 4096 + rows * 4096.0 + rows * 18_560.0);
            time(
                    "linear, " + rows + " x 4096 -> 18560",
                    bytes,
                    2.0 * rows * 4096 * 18_560,
                    () -> kernels.linear(x, weight, null, rows, 4096, 18_560).close());
        }
        for (int length : new int[] {256, 2048}) {
            AttentionShape shape = new AttentionShape(1, length, 32, 8, 128);
            double operations = 4.0 * 32 * 128 * length * (length + 1.0) / 2;
            time(
                    "attention, " + length + " tokens, 32/8 x 128",
                    4.0 * length * 128 * 80,
                    operations,
                    () -> kernels.attend(slice(x, 4096L * length), x, x, shape, 0.1f, true)
                            .close());
        }
        x.close();
        small.close();
        weight.close();
    }

    /** The front of an array under a length of its own; the array stays open. */
    private GpuArray slice(GpuArray array, long length) {
        return new GpuArray(array.owner(), array.block(), length);
    }

    private void scans(int length, int groups) throws CheckpointException {
        ScanShape shape = new ScanShape(1, length, 80, 64, groups, 128);
        ScanInputs exact = inputs(shape);
        LayerKernels kernels = new LayerKernels(gpu);
        ScanInputs rounded = new ScanInputs(
                shape,
                exact.timeStep(),
                kernels.toBfloat16(exact.x()),
                kernels.toBfloat16(exact.dt()),
                exact.aLog(),
                kernels.toBfloat16(exact.b()),
                kernels.toBfloat16(exact.c()),
                exact.d(),
                null,
                exact.dtBias(),
                null,
                null);
        double elements = 2.0 * shape.tokens() * shape.inner() + 2.0 * shape.tokens() * shape.groupState();
        elements += shape.tokens() * shape.heads();
        String size = length + " tokens, " + groups + " groups";
        // 2GQN + HQP + 4HPN per token: what chunks of 128 need when nothing above the diagonal is computed.
        double operations = length * (2.0 * groups * 128 * 128 + 80.0 * 128 * 64 + 4.0 * 80 * 64 * 128);
        try (GpuArray y = gpu.memory().floats((long) shape.tokens() * shape.inner());
                GpuArray state = gpu.memory().floats(shape.stateSize())) {
            time(
                    "float32 scan, " + size,
                    4 * elements,
                    operations,
                    () -> new ChunkScan(gpu, ScanPrecision.FLOAT32).run(exact, y, state));
            time("bfloat16 scan, " + size, 2 * elements, 0, () -> new HopperScan(gpu).run(rounded, y, null));
            time(
                    "bfloat16, any card, " + size,
                    2 * elements,
                    0,
                    () -> new ChunkScan(gpu, ScanPrecision.BFLOAT16).run(rounded, y, state));
        }
        for (GpuArray array : new GpuArray[] {
            exact.x(), exact.b(), exact.c(), exact.dt(), rounded.x(), rounded.b(), rounded.c(), rounded.dt()
        }) {
            array.close();
        }
    }

    private ScanInputs inputs(ScanShape shape) throws CheckpointException {
        float[] rates = new float[shape.heads()];
        for (int h = 0; h < rates.length; h++) {
            rates[h] = (float) Math.log(1 + 15 * random.nextDouble());
        }
        float[] skip = new float[shape.heads()];
        Arrays.fill(skip, 1);
        float[] bias = new float[shape.heads()];
        Arrays.fill(bias, -3);
        return new ScanInputs(
                shape,
                TimeStep.SOFTPLUS,
                numbers((long) shape.tokens() * shape.inner(), 1, 0),
                numbers((long) shape.tokens() * shape.heads(), 1, 0),
                gpu.upload(rates),
                numbers((long) shape.tokens() * shape.groupState(), 1, 0),
                numbers((long) shape.tokens() * shape.groupState(), 1, 0),
                gpu.upload(skip),
                null,
                gpu.upload(bias),
                null,
                null);
    }
}
