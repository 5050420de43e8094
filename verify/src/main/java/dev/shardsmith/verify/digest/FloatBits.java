package dev.shardsmith.verify.digest;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * Turns arrays of floats into arrays of their bits and back, which is faster with whole arrays than one by one.
 *
 * <p>Not safe for use by several threads: it holds scratch space.
 */
public final class FloatBits {
    private static final int LOWEST_OF_EXPONENT = 1 << 23;

    private final IntBuffer ints;
    private final FloatBuffer floats;

    /** A converter of at most {@link ElementDecoder#CHUNK} values at a time. */
    public FloatBits() {
        ByteBuffer shared =
                ByteBuffer.allocate(ElementDecoder.CHUNK * Float.BYTES).order(ByteOrder.nativeOrder());
        this.ints = shared.asIntBuffer();
        this.floats = shared.asFloatBuffer();
    }

    /** Sets {@code bits} to those of {@code values}. */
    public void of(float[] values, int count, int[] bits) {
        floats.put(0, values, 0, count);
        ints.get(0, bits, 0, count);
    }

    /** True if none of these bits is a NaN or an infinity. */
    public static boolean areFinite(int[] bits, int count) {
        // Adding one to an exponent of ones carries into the sign. Sums become vectors, which a combination of bits
        // does not.
        int beyond = 0;
        for (int i = 0; i < count; i++) {
            beyond += ((bits[i] & Integer.MAX_VALUE) + LOWEST_OF_EXPONENT) >>> 31;
        }
        return beyond == 0;
    }
}
