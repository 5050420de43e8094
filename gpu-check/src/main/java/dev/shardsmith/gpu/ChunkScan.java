package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.ScanShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The scan in chunks of 128 tokens, for any sizes and options: {@code scan.cuh}.
 *
 * <p>The states that enter the chunks need memory, so a long sequence is cut into windows that fit what is free; the
 * state at the end of one is the start of the next. Whole rows that fit run side by side.
 */
final class ChunkScan {
    /** Tokens of a chunk, and threads of a block. */
    static final int CHUNK = 128;

    private static final int TILE_COLUMNS = 64;
    private static final int CARRY_THREADS = 256;
    /** Elements that the kernels read in one access where every row allows it. */
    private static final int VECTOR = 4;

    private final Gpu gpu;
    private final ScanPrecision precision;

    ChunkScan(Gpu gpu, ScanPrecision precision) {
        this.gpu = gpu;
        this.precision = precision;
    }

    /** Bytes of scratch memory that one chunk of one row needs. */
    static long bytesPerChunk(ScanShape shape) {
        long scalars = (long) shape.heads() * CHUNK * 3 * Float.BYTES;
        long scores = (long) shape.groups() * CHUNK * CHUNK * Float.BYTES;
        return scalars + scores + (long) shape.stateSize() * Float.BYTES;
    }

    /** Chunks that are computed at once: as many as fit a third of what is free and the limits of a grid. */
    static long chunksAtOnce(ScanShape shape, long availableBytes) {
        long fitting = availableBytes / 3 / bytesPerChunk(shape);
        long grid = Driver.Grid.LIMIT / Math.max(shape.heads(), shape.groups());
        return Math.max(1, Math.min(fitting, grid));
    }

    /**
     * Runs a scan.
     *
     * @param y [batch, length, heads, headDim], in the precision of x; all of it is written
     * @param finalState [batch, heads, headDim, state]; all of it is written
     */
    void run(ScanInputs in, GpuArray y, GpuArray finalState) throws CheckpointException {
        ScanShape shape = in.shape();
        int chunks = (shape.length() + CHUNK - 1) / CHUNK;
        long atOnce = chunksAtOnce(shape, gpu.memory().available());
        if (chunks > atOnce) {
            for (int row = 0; row < shape.batch(); row++) {
                run(in, new Tokens(row, 1, 0, shape.length(), true), y, finalState);
            }
            return;
        }
        int rows = (int) Math.min(Math.min(shape.batch(), Driver.Grid.LIMIT), atOnce / chunks);
        for (int row = 0; row < shape.batch(); row += rows) {
            int count = Math.min(rows, shape.batch() - row);
            run(in, new Tokens(row, count, 0, shape.length(), true), y, finalState);
        }
    }

    /**
     * The same tokens of some rows.
     *
     * @param row first row of the batch
     * @param rows how many
     * @param from first token of each
     * @param to one past the last token of each
     * @param initial whether the rows' initial states, if there are any, enter
     */
    record Tokens(int row, int rows, int from, int to, boolean initial) {
        /** Checks that there is something to do. */
        Tokens {
            if (rows < 1 || from >= to) {
                throw new IllegalArgumentException("a scan of " + rows + " rows from " + from + " to " + to);
            }
        }
    }

    /** Runs some tokens; the states after them become the final states of their rows. */
    void run(ScanInputs in, Tokens tokens, GpuArray y, GpuArray finalState) throws CheckpointException {
        ScanShape shape = in.shape();
        int length = tokens.to() - tokens.from();
        int chunks = (int) Math.min(
                (length + CHUNK - 1) / CHUNK,
                Math.max(1, chunksAtOnce(shape, gpu.memory().available()) / tokens.rows()));
        Scratch scratch = Scratch.of(gpu.memory(), shape, tokens.rows(), chunks);
        try {
            int step = scratch.chunks() * CHUNK;
            for (int from = tokens.from(); from < tokens.to(); from += step) {
                int count = Math.min(step, tokens.to() - from);
                GpuArray entering = from > tokens.from() ? finalState : tokens.initial() ? in.initialState() : null;
                Window window = new Window(tokens, from, count, entering, from > tokens.from() ? -1 : 0);
                window(in, window, scratch, y, finalState);
            }
        } finally {
            scratch.close();
        }
    }

    /** What the kernels hand to each other, for so many chunks of so many rows. */
    private record Scratch(int chunks, GpuArray step, GpuArray sum, GpuArray scores, GpuArray states) {

        /** Takes memory for at most this many chunks; for half as many as long as the card has not enough. */
        static Scratch of(DeviceMemory memory, ScanShape shape, int rows, int chunks) throws CheckpointException {
            List<GpuArray> held = new ArrayList<>();
            long all = (long) rows * chunks;
            long[] lengths = {
                all * shape.heads() * CHUNK,
                2 * all * shape.heads() * CHUNK,
                all * shape.groups() * CHUNK * CHUNK,
                all * shape.stateSize()
            };
            for (long length : lengths) {
                Optional<GpuArray> array = chunks == 1 ? Optional.of(memory.floats(length)) : memory.tryFloats(length);
                if (array.isEmpty()) {
                    held.forEach(GpuArray::close);
                    return of(memory, shape, rows, chunks / 2);
                }
                held.add(array.get());
            }
            return new Scratch(chunks, held.get(0), held.get(1), held.get(2), held.get(3));
        }

        void close() {
            step.close();
            sum.close();
            scores.close();
            states.close();
        }
    }

    /**
     * Tokens that are computed at once.
     *
     * @param tokens what it is a part of
     * @param from first token
     * @param count of tokens
     * @param entering states before them, or null for zeros
     * @param carriedId sequence id of those, or -1 for that of the token before
     */
    private record Window(Tokens tokens, int from, int count, GpuArray entering, int carriedId) {

        Driver.Grid grid(int x, int y) {
            return new Driver.Grid(x, y, tokens.rows());
        }
    }

    private void window(ScanInputs in, Window window, Scratch scratch, GpuArray y, GpuArray finalState)
            throws CheckpointException {
        ScanShape shape = in.shape();
        int chunks = (window.count() + CHUNK - 1) / CHUNK;
        long token = (long) window.tokens().row() * shape.length() + window.from();
        long state = (long) window.tokens().row() * shape.stateSize();
        Argument x = elements(in.x(), token * shape.inner());
        Argument b = elements(in.b(), token * shape.groupState());
        Argument c = elements(in.c(), token * shape.groupState());
        Argument ids = new Argument.Address(in.sequenceIds() == null ? 0 : at(in.sequenceIds(), token));
        Argument step = Argument.of(scratch.step());
        Argument sum = Argument.of(scratch.sum());
        Argument scores = Argument.of(scratch.scores());
        Argument states = Argument.of(scratch.states());
        Argument sizes = sizes(in, window, chunks);
        String plain = precision == ScanPrecision.FLOAT32 ? "_f32" : "_bf16";
        boolean vectors = shape.headDim() % VECTOR == 0 && shape.state() % VECTOR == 0;
        String any = vectors ? "" : "_any";
        String kind = plain + any;
        int columns = (shape.headDim() + TILE_COLUMNS - 1) / TILE_COLUMNS;
        int stateRows = (shape.state() + CHUNK - 1) / CHUNK;
        Kernels kernels = gpu.kernels();
        kernels.launch(
                "scan_decay" + plain,
                window.grid(chunks, shape.heads()),
                CHUNK,
                elements(in.dt(), token * shape.heads()),
                Argument.of(in.aLog()),
                Argument.of(in.dtBias()),
                step,
                sum,
                sizes);
        kernels.launch(
                "scan_scores" + kind,
                window.grid(CHUNK / TILE_COLUMNS, chunks * shape.groups()),
                CHUNK,
                b,
                c,
                scores,
                sizes);
        kernels.launch(
                "scan_states" + kind,
                window.grid(stateRows * columns, chunks * shape.heads()),
                CHUNK,
                x,
                b,
                step,
                sum,
                ids,
                states,
                sizes);
        int perBlock = CARRY_THREADS * (vectors ? VECTOR : 1);
        int carryBlocks = (shape.headDim() * shape.state() + perBlock - 1) / perBlock;
        kernels.launch(
                "scan_carry" + any,
                window.grid(carryBlocks, shape.heads()),
                CARRY_THREADS,
                states,
                sum,
                ids,
                new Argument.Address(window.entering() == null ? 0 : at(window.entering(), state)),
                new Argument.Address(at(finalState, state)),
                sizes);
        kernels.launch(
                "scan_output" + kind,
                window.grid(columns, chunks * shape.heads()),
                CHUNK,
                x,
                c,
                scores,
                step,
                sum,
                ids,
                states,
                Argument.of(window.entering() == null ? 0 : 1),
                Argument.of(in.d()),
                elements(in.z(), token * shape.inner()),
                elements(y, token * shape.inner()),
                sizes);
    }

    /** The kernels' ScanShape. */
    private static Argument sizes(ScanInputs in, Window window, int chunks) {
        ScanShape shape = in.shape();
        return Argument.of(
                window.tokens().rows(),
                window.count(),
                shape.heads(),
                shape.headDim(),
                shape.groups(),
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

    private static long at(GpuArray array, long element) {
        return array.address() + element * Float.BYTES;
    }
}
