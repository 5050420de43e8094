package dev.shardsmith.verify.diff;

import java.nio.ByteBuffer;

/** Brings the stored values of one side of a chunk into a {@link FloatChunk}. */
interface FloatLoader {
    /** The layout of the words that it makes of the values. */
    FloatLayout layout();

    /** Loads {@code count} values from element {@code first} of a block on. */
    void load(ByteBuffer block, int first, int count, FloatChunk chunk);
}
