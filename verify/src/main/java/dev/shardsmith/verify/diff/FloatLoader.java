package dev.shardsmith.verify.diff;

import java.nio.ByteBuffer;

/**
 * Brings the stored values of one side into a {@link FloatChunk}.
 *
 * <p>Not safe for use by several threads, and for one side alone: it keeps what it needs of the side's block.
 */
interface FloatLoader {
    /** A chunk that it can fill. */
    FloatChunk newChunk();

    /** Loads the words of {@code count} values from element {@code first} of a block on, a multiple of a whole chunk. */
    void load(ByteBuffer block, int first, int count, FloatChunk chunk);

    /** Makes doubles of the values that were loaded last. */
    void widen(FloatChunk chunk);
}
