package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;

/** Loads values of any type whose values are floats. */
final class DecodedFloats implements FloatLoader {
    private final ElementDecoder decoder;
    private final UlpScale scale;
    private final boolean signOfZeroCounts;
    private final float[] decoded = new float[FloatChunk.VALUES];
    private final int[] bits = new int[FloatChunk.VALUES];
    private final int[] numbers = new int[FloatChunk.VALUES];
    private final FloatBuffer floats;
    private final IntBuffer ints;
    private final LongBuffer longs;

    /**
     * A loader.
     *
     * @param scale that of the coarser of the two types that are compared
     * @param signOfZeroCounts true between values of one type
     */
    DecodedFloats(ElementDecoder decoder, UlpScale scale, boolean signOfZeroCounts) {
        this.decoder = decoder;
        this.scale = scale;
        this.signOfZeroCounts = signOfZeroCounts;
        ByteBuffer shared = ByteBuffer.allocate(FloatChunk.VALUES * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        this.floats = shared.asFloatBuffer();
        this.ints = shared.asIntBuffer();
        this.longs = shared.asLongBuffer();
    }

    @Override
    public FloatChunk newChunk() {
        return new FloatChunk(FloatLayout.SINGLE, true);
    }

    @Override
    public void load(ByteBuffer block, int first, int count, FloatChunk chunk) {
        decoder.floats(block, first, count, decoded);
        Arrays.fill(decoded, count, decoded.length, 0);
        floats.put(0, decoded);
        ints.get(0, bits);
        scale.number(bits, numbers);
        ints.put(0, numbers);
        FloatChunk.take(longs, 0, chunk.numbers);
        if (!signOfZeroCounts) {
            clearNegativeZeros(bits);
        }
        ints.put(0, bits);
        FloatChunk.take(longs, 0, chunk.words);
    }

    @Override
    public void widen(FloatChunk chunk) {
        chunk.widen(decoded);
    }

    private static void clearNegativeZeros(int[] bits) {
        for (int i = 0; i < FloatChunk.VALUES; i++) {
            int magnitude = bits[i] << 1;
            bits[i] &= (magnitude | -magnitude) >> 31;
        }
    }
}
