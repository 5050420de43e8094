package dev.shardsmith.verify.diff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Loads values as they are stored, to be compared with values of their own type. */
final class StoredFloats implements FloatLoader {
    private final FloatLayout layout;
    private final int elementBytes;

    StoredFloats(FloatLayout layout, int elementBytes) {
        this.layout = layout;
        this.elementBytes = elementBytes;
    }

    @Override
    public FloatLayout layout() {
        return layout;
    }

    @Override
    public void load(ByteBuffer block, int first, int count, FloatChunk chunk) {
        int valueBytes = layout.bits / 8;
        chunk.take(block.slice(first * elementBytes, count * valueBytes).order(ByteOrder.LITTLE_ENDIAN), count);
        if (layout == FloatLayout.SINGLE) {
            for (int row = 0; row < chunk.wordRows(); row++) {
                number(chunk.words[row], chunk.numbers[row]);
            }
        }
    }

    private static void number(int[] words, int[] out) {
        for (int i = 0; i < FloatChunk.ROW; i++) {
            int sign = words[i] >> 31;
            out[i] = ((words[i] & Integer.MAX_VALUE) ^ sign) - sign;
        }
    }
}
