package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.LongBuffer;

/**
 * The values of one side of a chunk: as words of their layout, and as doubles.
 *
 * <p>Both stand in rows of {@link #ROW}, with zeros after the last value. Filled by a {@link FloatLoader}. Loops over rows are
 * written for HotSpot's compiler, which makes vectors of them: a constant number of steps, one index, one kind of element, no
 * branches and no reductions.
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

    FloatChunk(FloatLayout layout, boolean ownNumbers) {
        this.words = new long[layout.wordRows()][ROW];
        this.numbers = ownNumbers ? new long[layout.wordRows()][ROW] : words;
    }

    /** The value at a position. */
    double value(int position) {
        return values[position / ROW][position % ROW];
    }

    /** Takes rows of words from a place of a buffer on. */
    static void take(LongBuffer source, int from, long[][] rows) {
        for (int row = 0; row < rows.length; row++) {
            source.get(from + row * ROW, rows[row]);
        }
    }

    /** Makes doubles of all values of a chunk. */
    void widen(float[] floats) {
        for (int row = 0; row < values.length; row++) {
            widen(floats, row * ROW, values[row]);
        }
    }

    private static void widen(float[] floats, int from, double[] out) {
        for (int i = 0; i < ROW; i++) {
            out[i] = floats[from + i];
        }
    }

    /** Looks up all values of a chunk, which is faster than any other way to make doubles of 16 bits. */
    void lookUp(char[] codes, double[] table) {
        for (int row = 0; row < values.length; row++) {
            lookUp(codes, row * ROW, table, values[row]);
        }
    }

    private static void lookUp(char[] codes, int from, double[] table, double[] out) {
        for (int i = 0; i < ROW; i++) {
            out[i] = table[codes[from + i]];
        }
    }
}
