package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.ScanShape;

/**
 * The bfloat16 scan on Hopper's warpgroup matrix units: {@code scan_hopper.cuh}.
 *
 * <p>It is made for head dimension 64, state size 128 and unpacked sequences; {@link #fits} tells. Everything else in
 * bfloat16 goes through {@link ChunkScan}.
 */
final class HopperScan {
    private static final int TOKENS = 64;
    private static final int HEAD_DIM = 64;
    private static final int STATE = 128;
    private static final int HEADS_PER_BLOCK = 2;
    private static final int BLOCK = 128 * HEADS_PER_BLOCK;
    private static final int DECAY_HEADS = 16;
    private static final int TILE_BYTES = TOKENS * HEAD_DIM * Short.BYTES;
    /** The kernels' Scalars: sum, source and weight of each token of a chunk. */
    private static final int SCALARS = 3 * TOKENS;
    /** The kernels' StatesShared: three stages of B (two tiles), x of two heads, and their scalars. */
    static final int STATES_SHARED = 3 * (2 * TILE_BYTES + HEADS_PER_BLOCK * (TILE_BYTES + SCALARS * Float.BYTES));
    /** The kernels' ScanShared: four stages of C and B, three of x and scalars, the states, and D. */
    static final int SCAN_SHARED = 4 * 4 * TILE_BYTES
            + 3 * HEADS_PER_BLOCK * (TILE_BYTES + SCALARS * Float.BYTES)
            + HEADS_PER_BLOCK * (2 * TILE_BYTES + HEAD_DIM * Float.BYTES);
    /** Parts of a segment whose states are summed side by side, so that short grids still fill the card. */
    private static final int PARTS_PER_SEGMENT = 2;

    private final Gpu gpu;

    HopperScan(Gpu gpu) {
        this.gpu = gpu;
    }

    /** Whether these inputs, on this card, can go this way. */
    boolean fits(ScanInputs in) {
        return gpu.kernels().image() != KernelImage.COMPUTE80
                && gpu.card().sharedBytes() >= SCAN_SHARED
                && in.shape().headDim() == HEAD_DIM
                && in.shape().state() == STATE
                && in.shape().batch() <= Driver.Grid.LIMIT
                && in.sequenceIds() == null
                && (in.timeStep().softplus() || in.timeStep().min() >= 0);
    }

    /**
     * How a sequence is cut.
     *
     * @param chunks of 64 tokens
     * @param pairs blocks side by side: pairs of heads of one group
     * @param segments that run at the same time
     * @param partChunks chunks of one part of a segment
     */
    record Cut(int chunks, int pairs, int segments, int partChunks) {

        /** Segments so that all blocks run at once, one on each multiprocessor. */
        static Cut of(ScanShape shape, int multiprocessors) {
            int chunks = (shape.length() + TOKENS - 1) / TOKENS;
            int perGroup = shape.heads() / shape.groups();
            int pairs = shape.groups() * ((perGroup + HEADS_PER_BLOCK - 1) / HEADS_PER_BLOCK);
            long blocks = (long) pairs * shape.batch();
            int wanted = (int) Math.max(1, Math.min(chunks, multiprocessors / blocks));
            int partChunks = Math.max(1, (chunks + wanted * PARTS_PER_SEGMENT - 1) / (wanted * PARTS_PER_SEGMENT));
            int segmentChunks = partChunks * PARTS_PER_SEGMENT;
            return new Cut(chunks, pairs, (chunks + segmentChunks - 1) / segmentChunks, partChunks);
        }

        /** Parts before the last segment: those whose sums are needed. */
        int parts() {
            return (segments - 1) * PARTS_PER_SEGMENT;
        }
    }

    /**
     * Runs a scan.
     *
     * @param y [batch, length, heads, 64], bfloat16
     * @param finalState [batch, heads, 64, 128], or null if nobody wants it
     */
    void run(ScanInputs in, GpuArray y, GpuArray finalState) throws CheckpointException {
        ScanShape shape = in.shape();
        Cut cut = Cut.of(shape, gpu.card().multiprocessors());
        long heads = (long) shape.batch() * shape.heads();
        int parts = Math.max(1, cut.parts());
        try (GpuArray scalars = gpu.memory().floats(heads * cut.chunks() * SCALARS);
                GpuArray states = gpu.memory().floats(heads * parts * HEAD_DIM * STATE);
                GpuArray totals = gpu.memory().floats(heads * parts)) {
            launch(in, cut, scalars, states, totals, y, finalState);
        }
    }

    private void launch(
            ScanInputs in, Cut cut, GpuArray scalars, GpuArray states, GpuArray totals, GpuArray y, GpuArray finalState)
            throws CheckpointException {
        ScanShape shape = in.shape();
        Argument sizes = sizes(in, cut);
        Kernels kernels = gpu.kernels();
        kernels.launch(
                "hopper_decay",
                new Driver.Grid(cut.chunks(), (shape.heads() + DECAY_HEADS - 1) / DECAY_HEADS, shape.batch()),
                BLOCK,
                Argument.of(in.dt()),
                Argument.of(in.aLog()),
                Argument.of(in.dtBias()),
                Argument.of(scalars),
                sizes);
        kernels.launch(
                "hopper_states",
                new Driver.Grid(cut.pairs(), cut.parts(), shape.batch()),
                BLOCK,
                STATES_SHARED,
                Argument.of(in.x()),
                Argument.of(in.b()),
                Argument.of(scalars),
                Argument.of(states),
                Argument.of(totals),
                sizes);
        kernels.launch(
                in.z() == null ? "hopper_scan" : "hopper_scan_gated",
                new Driver.Grid(cut.pairs(), cut.segments(), shape.batch()),
                BLOCK,
                SCAN_SHARED,
                Argument.of(in.x()),
                Argument.of(in.b()),
                Argument.of(in.c()),
                Argument.of(scalars),
                Argument.of(in.initialState()),
                Argument.of(states),
                Argument.of(totals),
                Argument.of(in.d()),
                Argument.of(in.z()),
                Argument.of(y),
                Argument.of(finalState),
                sizes);
    }

    /** The kernels' hopper::Shape. */
    private static Argument sizes(ScanInputs in, Cut cut) {
        ScanShape shape = in.shape();
        return Argument.of(
                shape.batch(),
                shape.length(),
                shape.heads(),
                shape.groups(),
                cut.chunks(),
                cut.parts(),
                cut.partChunks(),
                PARTS_PER_SEGMENT,
                cut.segments(),
                shape.inner(),
                shape.groupState(),
                shape.groupState(),
                shape.heads(),
                shape.inner(),
                shape.inner(),
                in.skipMode(),
                in.timeStep().softplus() ? 1 : 0,
                Float.floatToIntBits(in.least()),
                Float.floatToIntBits(in.greatest()));
    }
}
