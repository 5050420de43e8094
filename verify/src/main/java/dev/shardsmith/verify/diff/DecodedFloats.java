package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** Loads values of any type whose values are floats. */
final class DecodedFloats implements FloatLoader {
    private final ElementDecoder decoder;
    private final UlpScale scale;
    private final boolean signOfZeroCounts;
    private final float[] decoded = new float[ElementDecoder.CHUNK];
    private final ByteBuffer bytes =
            ByteBuffer.allocate(ElementDecoder.CHUNK * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final FloatBuffer floats = bytes.asFloatBuffer();

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
    }

    @Override
    public FloatLayout layout() {
        return FloatLayout.SINGLE;
    }

    @Override
    public void load(ByteBuffer block, int first, int count, FloatChunk chunk) {
        decoder.floats(block, first, count, decoded);
        floats.put(0, decoded, 0, count);
        chunk.take(bytes.clear().limit(count * Float.BYTES), count);
        for (int row = 0; row < chunk.wordRows(); row++) {
            scale.number(chunk.words[row], chunk.numbers[row]);
            if (!signOfZeroCounts) {
                clearNegativeZeros(chunk.words[row]);
            }
        }
    }

    private static void clearNegativeZeros(int[] bits) {
        for (int i = 0; i < FloatChunk.ROW; i++) {
            int magnitude = bits[i] << 1;
            bits[i] &= (magnitude | -magnitude) >> 31;
        }
    }
}
