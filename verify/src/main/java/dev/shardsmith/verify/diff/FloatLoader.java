package dev.shardsmith.verify.diff;

import java.nio.ByteBuffer;

/** Brings the stored values of one side of a chunk into the lanes of a {@link FloatChunk}. */
interface FloatLoader {
    /**
     * Loads {@code count} values from element {@code first} of a block on.
     *
     * @return false if one of them is not finite; then the chunk's content is undefined
     */
    boolean load(ByteBuffer block, int first, int count, FloatChunk chunk);

    /** The lane of the value at {@code position} in the order of the elements, of {@code count}. */
    int lane(int position, int count);
}
