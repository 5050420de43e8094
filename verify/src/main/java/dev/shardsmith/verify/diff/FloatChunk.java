package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.LongBuffer;

/**
 * The values of one side of a chunk: as words of their layout, and as doubles.
 *
 * <p>Words stand in rows of {@link #ROW}, with zeros after the last value. A row makes a row of doubles of the values at the
 * first place of each word, one of those at the second, and so on.
 *
 * <p>Filled by a {@link FloatLoader}. Loops over rows are written for HotSpot's compiler, which makes vectors of them: a
 * constant number of steps, one index, one kind of element, no branches and no reductions. Bits are moved between types by
 * whole arrays.
 */
final class FloatChunk {
    /** Entries of a row. */
    static final int ROW = 256;

    /** Values of a chunk: four rows of doubles. */
    static final int VALUES = ElementDecoder.CHUNK;

    /** The values, little-endian: the first one in the low bits. */
    final long[][] words;

    /**
     * Numbers on the scale of the coarser type, neighbours one apart, as the words stand: sign and magnitude. The words
     * themselves, where they are such numbers.
     */
    final long[][] numbers;

    /** The values; finite if the words are. */
    final double[][] values = new double[VALUES / ROW][ROW];

    private final FloatLayout layout;
    private final long[] spread = new long[ROW];
    private final double[] raw = new double[ROW];
    private final LongBuffer spreadLongs;
    private final DoubleBuffer spreadDoubles;

    FloatChunk(FloatLayout layout, boolean ownNumbers) {
        this.layout = layout;
        this.words = new long[layout.wordRows()][ROW];
        this.numbers = ownNumbers ? new long[layout.wordRows()][ROW] : words;
        ByteBuffer shared = ByteBuffer.allocate(ROW * Double.BYTES).order(ByteOrder.nativeOrder());
        this.spreadLongs = shared.asLongBuffer();
        this.spreadDoubles = shared.asDoubleBuffer();
    }

    /** The value at a position. */
    double value(int position) {
        return values[layout.row(position)][layout.column(position)];
    }

    /** Takes rows of words from a place of a buffer on. */
    static void take(LongBuffer source, int from, long[][] rows) {
        for (int row = 0; row < rows.length; row++) {
            source.get(from + row * ROW, rows[row]);
        }
    }

    /** Makes {@link #values} of the words. */
    void widen() {
        for (int row = 0; row < values.length; row++) {
            int place = row % layout.perWord();
            int up = Long.SIZE - (place + 1) * layout.bits;
            spread(words[row / layout.perWord()], spread, up, layout.shift, layout.mask);
            spreadLongs.put(0, spread);
            spreadDoubles.get(0, raw);
            scale(raw, layout.scale, values[row]);
        }
    }

    private static void spread(long[] words, long[] out, int up, int down, long mask) {
        for (int i = 0; i < ROW; i++) {
            out[i] = ((words[i] << up) >> down) & mask;
        }
    }

    private static void scale(double[] raw, double factor, double[] out) {
        for (int i = 0; i < ROW; i++) {
            out[i] = raw[i] * factor;
        }
    }
}
