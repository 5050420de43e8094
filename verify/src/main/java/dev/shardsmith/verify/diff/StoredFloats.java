package dev.shardsmith.verify.diff;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.Optional;

/** Loads values as they are stored, to be compared with values of their own type. */
final class StoredFloats implements FloatLoader {
    /** One buffer, as what its bytes can be read as. */
    private record Views(LongBuffer longs, CharBuffer chars, FloatBuffer floats) {
        static Views of(ByteBuffer bytes) {
            ByteBuffer all = bytes.duplicate().clear().order(ByteOrder.LITTLE_ENDIAN);
            return new Views(all.asLongBuffer(), all.asCharBuffer(), all.asFloatBuffer());
        }
    }

    private final FloatLayout layout;
    private final int elementBytes;
    private final Optional<double[]> table;
    private final char[] codes;
    private final float[] floats;
    private final ByteBuffer part;
    private final Views partViews;
    private ByteBuffer block;
    private Views blockViews;
    private Views loaded;
    private int offset;

    StoredFloats(FloatLayout layout, int elementBytes) {
        this.layout = layout;
        this.elementBytes = elementBytes;
        this.table = layout.table();
        this.codes = new char[table.isPresent() ? FloatChunk.VALUES : 0];
        this.floats = new float[table.isPresent() ? 0 : FloatChunk.VALUES];
        this.part = ByteBuffer.allocate(FloatChunk.VALUES * layout.bits / 8);
        this.partViews = Views.of(part);
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
            blockViews = Views.of(source);
        }
        offset = first * elementBytes;
        loaded = blockViews;
        if (count < FloatChunk.VALUES) {
            int bytes = count * layout.bits / 8;
            source.duplicate().clear().position(offset).get(part.array(), 0, bytes);
            Arrays.fill(part.array(), bytes, part.capacity(), (byte) 0);
            offset = 0;
            loaded = partViews;
        }
        FloatChunk.take(loaded.longs(), offset / Long.BYTES, chunk.words);
    }

    @Override
    public void widen(FloatChunk chunk) {
        if (table.isPresent()) {
            loaded.chars().get(offset / Character.BYTES, codes);
            chunk.lookUp(codes, table.get());
        } else {
            loaded.floats().get(offset / Float.BYTES, floats);
            chunk.widen(floats);
        }
    }
}
