package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.FloatBits;
import java.nio.ByteBuffer;

/** Loads values of any type whose values are floats; the lanes are in the order of the elements. */
final class DecodedFloats implements FloatLoader {
    private final ElementDecoder decoder;
    private final UlpScale scale;
    private final boolean signOfZeroCounts;

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
    public boolean load(ByteBuffer block, int first, int count, FloatChunk chunk) {
        decoder.floats(block, first, count, chunk.values);
        chunk.setBits(count);
        if (!FloatBits.areFinite(chunk.bits, count)) {
            return false;
        }
        scale.number(chunk.values, chunk.bits, count, chunk.numbers);
        if (!signOfZeroCounts) {
            clearNegativeZeros(chunk.bits, count);
        }
        return true;
    }

    private static void clearNegativeZeros(int[] bits, int count) {
        for (int i = 0; i < count; i++) {
            int magnitude = bits[i] << 1;
            bits[i] &= (magnitude | -magnitude) >> 31;
        }
    }

    @Override
    public int lane(int position, int count) {
        return position;
    }
}
