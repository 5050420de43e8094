package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.ScanShape;
import java.util.List;

/**
 * The scan in chunks of 128 tokens, for any sizes and options: {@code scan.cuh}.
 *
 * <p>The states that enter the chunks need memory, so a long sequence is cut into windows that fit what is free; the
 * state at the end of one is the start of the next. Whole rows that fit run side by side.
 */
final class ChunkScan {
    /** Tokens of a chunk. */
    static final int CHUNK = 128;

    /** Below this no half would fill a card. */
    private static final int BLOCKS_WORTH_HALVING = 1024;

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
        ScanScratch scratch = ScanScratch.of(gpu.memory(), shape, tokens.rows(), chunks);
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

    /**
     * Tokens that are computed at once.
     *
     * @param tokens what it is a part of
     * @param from first token
     * @param count of tokens
     * @param entering states before them, or null for zeros
     * @param carriedId sequence id of those, or -1 for that of the token before
     */
    record Window(Tokens tokens, int from, int count, GpuArray entering, int carriedId) {}

    /** Large windows go in two halves of their heads, side by side. */
    private void window(ScanInputs in, Window window, ScanScratch scratch, GpuArray y, GpuArray finalState)
            throws CheckpointException {
        ScanLaunches launches = new ScanLaunches(gpu, precision, in, window, scratch, y, finalState);
        List<ScanLaunches.Heads> halves = ScanLaunches.Heads.halves(in.shape());
        // The second half's states would be those of the next row if there were several.
        long blocks = (long) launches.chunks() * in.shape().heads();
        if (halves.isEmpty() || window.tokens().rows() > 1 || blocks < BLOCKS_WORTH_HALVING) {
            launches.whole();
        } else {
            launches.halves(halves, gpu.streams());
        }
    }
}
