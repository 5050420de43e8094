package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionShape;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.Rotary;

/** Launches of {@code layer.cuh} and {@code compare.cuh}: which grid, which arguments. */
final class LayerKernels {
    /** Threads of the tile products in float32. */
    static final int FMA_THREADS = 128;

    private static final int THREADS = 256;
    /** Blocks that fill any card several times; the kernels stride over the rest. */
    private static final int MANY_BLOCKS = 8192;

    private static final int TILE_ROWS = 128;
    private static final int TILE_COLUMNS = 64;
    private static final int WIDE_THREADS = 128;
    private static final int WIDE_ROWS = 16;
    private static final int WIDE_COLUMNS = 32;
    private static final int ATTEND_THREADS = 128;
    private static final int ATTEND_QUERIES = 64;
    private static final int ATTEND_CHANNELS = 128;
    /** Elements that some kernels read in one access where every row allows it. */
    private static final int VECTOR = 4;

    private static final int CONVOLVE_THREADS = 128;
    private static final int CONVOLVE_TAPS = 4;
    private static final int CONVOLVE_RUN = 16;
    private static final int COMPARE_BLOCKS = 1024;

    private final Gpu gpu;

    LayerKernels(Gpu gpu) {
        this.gpu = gpu;
    }

    GpuArray linear(GpuArray x, GpuArray weight, GpuArray bias, int rows, int in, int out) throws CheckpointException {
        GpuArray y = gpu.memory().floats((long) rows * out);
        gpu.kernels()
                .launch(
                        in % VECTOR == 0 ? "linear" : "linear_any",
                        new Driver.Grid(blocks(rows, TILE_ROWS), blocks(out, TILE_COLUMNS), 1),
                        FMA_THREADS,
                        Argument.of(x),
                        Argument.of(weight),
                        Argument.of(bias),
                        Argument.of(y),
                        Argument.of(rows),
                        Argument.of(in),
                        Argument.of(out));
        return y;
    }

    /** The product in double precision: x of [rows, in] and the result of [rows, out] are doubles. */
    GpuArray linearWide(GpuArray x, GpuArray weight, GpuArray bias, int rows, int in, int out)
            throws CheckpointException {
        GpuArray y = gpu.memory().doubles((long) rows * out);
        gpu.kernels()
                .launch(
                        "linear_wide",
                        new Driver.Grid(blocks(out, WIDE_COLUMNS), blocks(rows, WIDE_ROWS), 1),
                        WIDE_THREADS,
                        Argument.of(x),
                        Argument.of(weight),
                        Argument.of(bias),
                        Argument.of(y),
                        Argument.of(rows),
                        Argument.of(in),
                        Argument.of(out));
        return y;
    }

    /** Copies columns of [rows, fromWidth] into columns of [rows, toWidth]. */
    void copyColumns(
            GpuArray from, int fromWidth, int fromFirst, GpuArray to, int toWidth, int toFirst, int rows, int count)
            throws CheckpointException {
        gpu.kernels()
                .launch(
                        "copy_columns",
                        elements((long) rows * count),
                        THREADS,
                        Argument.of(from),
                        Argument.of(fromWidth),
                        Argument.of(fromFirst),
                        Argument.of(to),
                        Argument.of(toWidth),
                        Argument.of(toFirst),
                        Argument.of(rows),
                        Argument.of(count));
    }

    GpuArray add(GpuArray a, GpuArray b, float factor) throws CheckpointException {
        GpuArray y = gpu.memory().floats(a.length());
        gpu.kernels()
                .launch(
                        "add_scaled",
                        elements(a.length()),
                        THREADS,
                        Argument.of(a),
                        Argument.of(b),
                        new Argument.Single(factor),
                        Argument.of(y),
                        new Argument.Count(a.length()));
        return y;
    }

    GpuArray activate(GpuArray x, Activation f) throws CheckpointException {
        GpuArray y = gpu.memory().floats(x.length());
        gpu.kernels()
                .launch(
                        "activate",
                        elements(x.length()),
                        THREADS,
                        Argument.of(x),
                        Argument.of(y),
                        Argument.of(code(f)),
                        new Argument.Count(x.length()));
        return y;
    }

    GpuArray gate(GpuArray gate, GpuArray value, Activation f) throws CheckpointException {
        GpuArray y = gpu.memory().floats(value.length());
        gpu.kernels()
                .launch(
                        "gate_values",
                        elements(value.length()),
                        THREADS,
                        Argument.of(gate),
                        Argument.of(value),
                        Argument.of(y),
                        Argument.of(code(f)),
                        new Argument.Count(value.length()));
        return y;
    }

    GpuArray normalize(GpuArray x, Norm norm, GpuArray weight, GpuArray bias, int rows, int width, int group)
            throws CheckpointException {
        GpuArray y = gpu.memory().floats((long) rows * width);
        int kind = switch (norm.kind()) {
            case RMS -> 0;
            case LAYER -> 1;
        };
        gpu.kernels()
                .launch(
                        "normalize",
                        new Driver.Grid(rows, width / group, 1),
                        THREADS,
                        Argument.of(x),
                        Argument.of(weight),
                        Argument.of(bias),
                        Argument.of(y),
                        Argument.of(width),
                        Argument.of(group),
                        Argument.of(kind),
                        new Argument.Single(norm.epsilon()),
                        new Argument.Single(norm.weightOffset()));
        return y;
    }

    GpuArray convolve(
            GpuArray x, GpuArray weight, GpuArray bias, int batch, int length, int channels, int kernel, Activation f)
            throws CheckpointException {
        GpuArray y = gpu.memory().floats(x.length());
        int runs = blocks(length, CONVOLVE_RUN);
        if (kernel == CONVOLVE_TAPS && channels % VECTOR == 0 && Math.max(runs, batch) <= Driver.Grid.LIMIT) {
            gpu.kernels()
                    .launch(
                            "convolve_4",
                            new Driver.Grid(blocks(channels, VECTOR * CONVOLVE_THREADS), runs, batch),
                            CONVOLVE_THREADS,
                            Argument.of(x),
                            Argument.of(weight),
                            Argument.of(bias),
                            Argument.of(y),
                            Argument.of(length),
                            Argument.of(channels),
                            Argument.of(code(f)));
            return y;
        }
        gpu.kernels()
                .launch(
                        "convolve",
                        elements(x.length()),
                        THREADS,
                        Argument.of(x),
                        Argument.of(weight),
                        Argument.of(bias),
                        Argument.of(y),
                        Argument.of(batch),
                        Argument.of(length),
                        Argument.of(channels),
                        Argument.of(kernel),
                        Argument.of(code(f)));
        return y;
    }

    GpuArray rotate(GpuArray x, Rotary rotary, int batch, int length, int heads, int headDim)
            throws CheckpointException {
        GpuArray y = gpu.memory().floats(x.length());
        gpu.kernels()
                .launch(
                        "rotate",
                        elements(x.length()),
                        THREADS,
                        Argument.of(x),
                        Argument.of(y),
                        Argument.of(batch),
                        Argument.of(length),
                        Argument.of(heads),
                        Argument.of(headDim),
                        Argument.of(rotary.rotated()),
                        new Argument.Double(rotary.base()),
                        Argument.of(rotary.interleaved() ? 1 : 0));
        return y;
    }

    GpuArray attend(GpuArray q, GpuArray k, GpuArray v, AttentionShape shape, float scale, boolean causal)
            throws CheckpointException {
        GpuArray y = gpu.memory().floats(q.length());
        int channelTiles = blocks(shape.headDim(), ATTEND_CHANNELS);
        gpu.kernels()
                .launch(
                        shape.headDim() % VECTOR == 0 ? "attend" : "attend_any",
                        new Driver.Grid(
                                blocks(shape.length(), ATTEND_QUERIES),
                                Math.multiplyExact(shape.heads(), channelTiles),
                                shape.batch()),
                        ATTEND_THREADS,
                        Argument.of(q),
                        Argument.of(k),
                        Argument.of(v),
                        Argument.of(y),
                        Argument.of(shape.length()),
                        Argument.of(shape.heads()),
                        Argument.of(shape.keyHeads()),
                        Argument.of(shape.headDim()),
                        Argument.of(channelTiles),
                        new Argument.Single(scale),
                        Argument.of(causal ? 1 : 0));
        return y;
    }

    /** One number per row: {@code row_maxima} or {@code row_norms}. */
    float[] perRow(String kernel, GpuArray x, int rows, int width) throws CheckpointException {
        if (rows == 0) {
            return new float[0];
        }
        try (GpuArray y = gpu.memory().floats(rows)) {
            gpu.kernels()
                    .launch(
                            kernel,
                            new Driver.Grid(rows, 1, 1),
                            THREADS,
                            Argument.of(x),
                            Argument.of(y),
                            Argument.of(width));
            return gpu.transfers().out(y, 0, rows);
        }
    }

    /** Rounds to bfloat16. */
    GpuArray toBfloat16(GpuArray x) throws CheckpointException {
        GpuArray y = gpu.memory().array(x.length(), Short.BYTES);
        convert("to_bfloat16", x, y);
        return y;
    }

    /** Widens from bfloat16. */
    GpuArray toFloat32(GpuArray x) throws CheckpointException {
        GpuArray y = gpu.memory().floats(x.length());
        convert("to_float32", x, y);
        return y;
    }

    /** {@code to_bfloat16}, {@code to_float32} or {@code half_to_float32}. */
    void convert(String kernel, GpuArray x, GpuArray y) throws CheckpointException {
        gpu.kernels()
                .launch(
                        kernel,
                        elements(x.length()),
                        THREADS,
                        Argument.of(x),
                        Argument.of(y),
                        new Argument.Count(x.length()));
    }

    /** Compares element by element; {@code bound} has one limit per element, or is null for the one {@code limit}. */
    Difference compare(GpuArray a, GpuArray b, GpuArray bound, float limit) throws CheckpointException {
        if (a.length() != b.length()) {
            throw new IllegalArgumentException(a.length() + " elements against " + b.length());
        }
        int blocks = (int) Math.min(COMPARE_BLOCKS, blocks(a.length(), THREADS));
        try (GpuArray records = gpu.memory().floats((long) Math.max(1, blocks) * Difference.WORDS)) {
            gpu.kernels()
                    .launch(
                            "compare_arrays",
                            new Driver.Grid(blocks, 1, 1),
                            THREADS,
                            Argument.of(a),
                            Argument.of(b),
                            Argument.of(bound),
                            new Argument.Single(limit),
                            new Argument.Count(a.length()),
                            Argument.of(records));
            return Difference.of(gpu.transfers().out(records, 0, blocks * Difference.WORDS), a.length());
        }
    }

    private static Driver.Grid elements(long count) {
        return new Driver.Grid((int) Math.min(MANY_BLOCKS, blocks(count, THREADS)), 1, 1);
    }

    private static int blocks(long count, int size) {
        return Math.toIntExact((count + size - 1) / size);
    }

    /** The kernels' ActivationKind. */
    private static int code(Activation f) {
        return switch (f) {
            case IDENTITY -> 0;
            case SILU -> 1;
            case SQUARED_RELU -> 2;
            case GELU -> 3;
            case GELU_TANH -> 4;
        };
    }
}
