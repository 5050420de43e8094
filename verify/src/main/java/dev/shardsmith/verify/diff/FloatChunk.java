package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;

/**
 * The values of one side of a chunk: as words of their layout, and as doubles.
 *
 * <p>They stand in rows of {@link #ROW}, with zeros after the last one. A row of 64-bit words makes a row of doubles of the
 * values at the first place of each word, one of those at the second, and so on.
 *
 * <p>Filled by a {@link FloatLoader}. Loops over rows are written for HotSpot's compiler, which makes vectors of them: a
 * constant number of steps, one index, one kind of element, no branches and no reductions. Bits are moved between types by
 * whole arrays.
 */
final class FloatChunk {
    /** Entries of a row. */
    static final int ROW = 256;

    private static final int ROWS = ElementDecoder.CHUNK / ROW;

    /** The values, little-endian: the first one in the low bits. */
    final int[][] words = new int[ROWS][ROW];

    /** The values; finite if the words are. */
    final double[][] values = new double[ROWS][ROW];

    /** Numbers on the scale of the coarser type, neighbours one apart, as the words stand; for values of 32 bits alone. */
    final int[][] numbers = new int[ROWS][ROW];

    private final FloatLayout layout;
    private final long[][] pairs = new long[ROWS / 2][ROW];
    private final long[] spread = new long[ROW];
    private final LongBuffer spreadLongs;
    private final DoubleBuffer spreadDoubles;
    private final ByteBuffer part =
            ByteBuffer.allocate(ElementDecoder.CHUNK * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private int pairRows;

    FloatChunk(FloatLayout layout) {
        this.layout = layout;
        ByteBuffer shared = ByteBuffer.allocate(ROW * Double.BYTES).order(ByteOrder.nativeOrder());
        this.spreadLongs = shared.asLongBuffer();
        this.spreadDoubles = shared.asDoubleBuffer();
    }

    /** Rows of words in use. */
    int wordRows() {
        return 2 * pairRows;
    }

    /** Rows of values in use. */
    int valueRows() {
        return pairRows * perPair();
    }

    private int perPair() {
        return 2 * layout.perWord();
    }

    /** The value at a position. */
    double value(int position) {
        int pair = position / perPair();
        return values[pair / ROW * perPair() + position % perPair()][pair % ROW];
    }

    /** Takes {@code count} values, all bytes of a little-endian buffer. */
    void take(ByteBuffer source, int count) {
        int perRow = ROW * perPair();
        pairRows = (count + perRow - 1) / perRow;
        ByteBuffer whole = source;
        int bytes = pairRows * ROW * Long.BYTES;
        if (source.remaining() < bytes) {
            part.clear().put(source);
            Arrays.fill(part.array(), part.position(), bytes, (byte) 0);
            whole = part.clear();
        }
        IntBuffer ints = whole.asIntBuffer();
        for (int row = 0; row < wordRows(); row++) {
            ints.get(words[row]);
        }
        LongBuffer longs = whole.asLongBuffer();
        for (int row = 0; row < pairRows; row++) {
            longs.get(pairs[row]);
            widen(row);
        }
    }

    private void widen(int row) {
        for (int place = 0; place < perPair(); place++) {
            double[] out = values[row * perPair() + place];
            spread(pairs[row], spread, Long.SIZE - (place + 1) * layout.bits, layout.shift, layout.mask);
            spreadLongs.put(0, spread);
            spreadDoubles.get(0, out);
            scale(out, layout.scale);
        }
    }

    private static void spread(long[] pairs, long[] out, int up, int down, long mask) {
        for (int i = 0; i < ROW; i++) {
            out[i] = ((pairs[i] << up) >> down) & mask;
        }
    }

    private static void scale(double[] values, double factor) {
        for (int i = 0; i < ROW; i++) {
            values[i] *= factor;
        }
    }
}
