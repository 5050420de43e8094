package dev.shardsmith.verify.diff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Arrays;

/** Loads values as they are stored, to be compared with values of their own type. */
final class StoredFloats implements FloatLoader {
    private final FloatLayout layout;
    private final int elementBytes;
    private final ByteBuffer part;
    private final LongBuffer partLongs;
    private ByteBuffer block;
    private LongBuffer longs;

    StoredFloats(FloatLayout layout, int elementBytes) {
        this.layout = layout;
        this.elementBytes = elementBytes;
        this.part = ByteBuffer.allocate(FloatChunk.VALUES * layout.bits / 8).order(ByteOrder.LITTLE_ENDIAN);
        this.partLongs = part.asLongBuffer();
    }

    @Override
    public FloatChunk newChunk() {
        // The bits of a floating-point number are sign and magnitude of its number.
        return new FloatChunk(layout, false);
    }

    @Override
    public void load(ByteBuffer source, int first, int count, FloatChunk chunk) {
        if (block != source) {
            block = source;
            longs = source.duplicate().clear().order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
        }
        if (count == FloatChunk.VALUES) {
            FloatChunk.take(longs, first * elementBytes / Long.BYTES, chunk.words);
        } else {
            int bytes = count * layout.bits / 8;
            source.duplicate().clear().position(first * elementBytes).get(part.array(), 0, bytes);
            Arrays.fill(part.array(), bytes, part.capacity(), (byte) 0);
            FloatChunk.take(partLongs, 0, chunk.words);
        }
    }
}
