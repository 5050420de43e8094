package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.ScanShape;
import java.util.List;

/** The launches of one window of a scan: {@code scan.cuh}. */
final class ScanLaunches {
    /** Threads of the tile products on the tensor cores. */
    private static final int MMA_THREADS = 128;

    private static final int CHUNK = ChunkScan.CHUNK;
    private static final int TILE_COLUMNS = 64;
    private static final int CARRY_THREADS = 256;
    /** Elements that the kernels read in one access where every row allows it. */
    private static final int VECTOR = 4;

    private final Gpu gpu;
    private final ScanPrecision precision;
    private final ScanInputs in;
    private final ChunkScan.Window window;
    private final ScanScratch scratch;
    private final GpuArray y;
    private final GpuArray finalState;
    private final ScanShape shape;
    private final int chunks;
    private final String suffix;
    private final String any;
    private final int threads;
    private final long token;

    ScanLaunches(
            Gpu gpu,
            ScanPrecision precision,
            ScanInputs in,
            ChunkScan.Window window,
            ScanScratch scratch,
            GpuArray y,
            GpuArray finalState) {
        this.gpu = gpu;
        this.precision = precision;
        this.in = in;
        this.window = window;
        this.scratch = scratch;
        this.y = y;
        this.finalState = finalState;
        this.shape = in.shape();
        this.chunks = (window.count() + CHUNK - 1) / CHUNK;
        this.suffix = precision == ScanPrecision.FLOAT32 ? "_f32" : "_bf16";
        this.any = shape.headDim() % VECTOR == 0 && shape.state() % VECTOR == 0 ? "" : "_any";
        this.threads = precision == ScanPrecision.FLOAT32 ? LayerKernels.FMA_THREADS : MMA_THREADS;
        this.token = (long) window.tokens().row() * shape.length() + window.from();
    }

    int chunks() {
        return chunks;
    }

    /**
     * Some heads with the groups that they use.
     *
     * @param first head
     * @param count of heads
     * @param firstGroup group of the first head
     * @param groups how many
     */
    record Heads(int first, int count, int firstGroup, int groups) {

        static Heads all(ScanShape shape) {
            return new Heads(0, shape.heads(), 0, shape.groups());
        }

        /** Two halves of all heads; nothing if a group would be cut, unless there is only one. */
        static List<Heads> halves(ScanShape shape) {
            int half = shape.heads() / 2;
            if (shape.groups() == 1 && shape.heads() % 2 == 0) {
                return List.of(new Heads(0, half, 0, 1), new Heads(half, half, 0, 1));
            }
            int groups = shape.groups() / 2;
            return shape.groups() % 2 == 0
                    ? List.of(new Heads(0, half, 0, groups), new Heads(half, half, groups, groups))
                    : List.of();
        }
    }

    /** All heads at once. */
    void whole() throws CheckpointException {
        Heads all = Heads.all(shape);
        decay(all, Driver.DEFAULT_STREAM);
        scores(all, Driver.DEFAULT_STREAM);
        states(all, Driver.DEFAULT_STREAM);
        carry(all, Driver.DEFAULT_STREAM);
        output(all, Driver.DEFAULT_STREAM);
    }

    /**
     * Two halves beside each other. The scores, few blocks that wait for nothing, fill what the first half's states leave free;
     * each carry runs beside the arithmetic of the other half.
     */
    void halves(List<Heads> halves, ScanStreams streams) throws CheckpointException {
        decay(Heads.all(shape), Driver.DEFAULT_STREAM);
        streams.fork();
        Heads first = halves.get(0);
        Heads second = halves.get(1);
        states(first, streams.of(0));
        scores(first, streams.of(1));
        if (second.firstGroup() != first.firstGroup()) {
            scores(second, streams.of(1));
        }
        streams.scored();
        states(second, streams.of(1));
        for (int i = 0; i < ScanStreams.HALVES; i++) {
            streams.beforeCarry(i);
            carry(halves.get(i), streams.urgent());
            streams.afterCarry(i);
            output(halves.get(i), streams.of(i));
        }
        streams.join();
    }

    private Driver.Grid grid(int x, int y) {
        return new Driver.Grid(x, y, window.tokens().rows());
    }

    private int columns() {
        return (shape.headDim() + TILE_COLUMNS - 1) / TILE_COLUMNS;
    }

    private void decay(Heads heads, Driver.Handle stream) throws CheckpointException {
        gpu.kernels()
                .launchOn(
                        stream,
                        "scan_decay" + suffix,
                        grid(chunks, heads.count()),
                        CHUNK,
                        elements(in.dt(), token * shape.heads() + heads.first()),
                        floats(in.aLog(), heads.first()),
                        floats(in.dtBias(), heads.first()),
                        step(heads),
                        sum(heads),
                        sizes(heads));
    }

    private void scores(Heads heads, Driver.Handle stream) throws CheckpointException {
        gpu.kernels()
                .launchOn(
                        stream,
                        "scan_scores" + suffix + any,
                        grid(CHUNK / TILE_COLUMNS, chunks * heads.groups()),
                        threads,
                        ofGroups(in.b(), heads),
                        ofGroups(in.c(), heads),
                        scores(heads),
                        sizes(heads));
    }

    private void states(Heads heads, Driver.Handle stream) throws CheckpointException {
        int stateRows = (shape.state() + CHUNK - 1) / CHUNK;
        gpu.kernels()
                .launchOn(
                        stream,
                        "scan_states" + suffix + any,
                        grid(stateRows * columns(), chunks * heads.count()),
                        threads,
                        ofHeads(in.x(), heads),
                        ofGroups(in.b(), heads),
                        step(heads),
                        sum(heads),
                        floats(in.sequenceIds(), token),
                        chunkStates(heads),
                        sizes(heads));
    }

    private void carry(Heads heads, Driver.Handle stream) throws CheckpointException {
        int perBlock = CARRY_THREADS * (any.isEmpty() ? VECTOR : 1);
        int blocks = (shape.headDim() * shape.state() + perBlock - 1) / perBlock;
        long state = (long) window.tokens().row() * shape.stateSize()
                + (long) heads.first() * shape.headDim() * shape.state();
        gpu.kernels()
                .launchOn(
                        stream,
                        "scan_carry" + any,
                        grid(blocks, heads.count()),
                        CARRY_THREADS,
                        chunkStates(heads),
                        sum(heads),
                        floats(in.sequenceIds(), token),
                        floats(window.entering(), state),
                        floats(finalState, state),
                        sizes(heads));
    }

    private void output(Heads heads, Driver.Handle stream) throws CheckpointException {
        int skipPerHead = in.skipMode() == ScanInputs.SKIP_PER_CHANNEL ? shape.headDim() : 1;
        gpu.kernels()
                .launchOn(
                        stream,
                        "scan_output" + suffix + any,
                        grid(columns(), chunks * heads.count()),
                        threads,
                        ofHeads(in.x(), heads),
                        ofGroups(in.c(), heads),
                        scores(heads),
                        step(heads),
                        sum(heads),
                        floats(in.sequenceIds(), token),
                        chunkStates(heads),
                        Argument.of(window.entering() == null ? 0 : 1),
                        floats(in.d(), (long) heads.first() * skipPerHead),
                        ofHeads(in.z(), heads),
                        ofHeads(y, heads),
                        sizes(heads));
    }

    private Argument ofHeads(GpuArray array, Heads heads) {
        return elements(array, token * shape.inner() + (long) heads.first() * shape.headDim());
    }

    private Argument ofGroups(GpuArray array, Heads heads) {
        return elements(array, token * shape.groupState() + (long) heads.firstGroup() * shape.state());
    }

    private Argument step(Heads heads) {
        return floats(scratch.step(), (long) heads.first() * chunks * CHUNK);
    }

    /** Two floats for each step. */
    private Argument sum(Heads heads) {
        return floats(scratch.sum(), 2L * heads.first() * chunks * CHUNK);
    }

    private Argument scores(Heads heads) {
        return floats(scratch.scores(), (long) heads.firstGroup() * chunks * CHUNK * CHUNK);
    }

    private Argument chunkStates(Heads heads) {
        return floats(scratch.states(), (long) heads.first() * chunks * shape.headDim() * shape.state());
    }

    /** The kernels' ScanShape. */
    private Argument sizes(Heads heads) {
        return Argument.of(
                window.tokens().rows(),
                window.count(),
                heads.count(),
                shape.headDim(),
                heads.groups(),
                shape.state(),
                chunks,
                shape.inner(),
                shape.groupState(),
                shape.groupState(),
                shape.heads(),
                shape.inner(),
                shape.inner(),
                in.skipMode(),
                in.timeStep().softplus() ? 1 : 0,
                Float.floatToIntBits(in.least()),
                Float.floatToIntBits(in.greatest()),
                window.carriedId(),
                shape.length());
    }

    private Argument elements(GpuArray array, long element) {
        int width = precision == ScanPrecision.FLOAT32 ? Float.BYTES : Short.BYTES;
        return new Argument.Address(array == null ? 0 : array.address() + element * width);
    }

    private static Argument floats(GpuArray array, long element) {
        return new Argument.Address(array == null ? 0 : array.address() + element * Float.BYTES);
    }
}
