package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.FloatBits;

/**
 * The values of one side of a chunk, each in three forms, in lanes: places that need not be in the order of the elements.
 *
 * <p>Filled by a {@link FloatLoader}.
 */
final class FloatChunk {
    /** The values. */
    final float[] values = new float[ElementDecoder.CHUNK];

    /** Equal on both sides exactly where the values count as the same. */
    final int[] bits = new int[ElementDecoder.CHUNK];

    /** Numbers on the scale of the coarser type, neighbours one apart. */
    final int[] numbers = new int[ElementDecoder.CHUNK];

    private final FloatBits conversion = new FloatBits();

    /** Sets the values to the floats that these bits are. */
    void setValues(int[] floatBits, int count) {
        conversion.toFloats(floatBits, count, values);
    }

    /** Sets the bits to those of the values. */
    void setBits(int count) {
        conversion.of(values, count, bits);
    }
}
