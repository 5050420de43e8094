package dev.shardsmith.verify.diff;

import java.util.Arrays;

/**
 * Counts distances by the power of two that they reach, many at once.
 *
 * <p>Distances are unsigned and stand in the places of a layout's words. Counting one after the other costs several
 * instructions and a dependent store for each. Here a distance first becomes ones up to its highest bit; then bit {@code k}
 * has to be counted, over all distances. That is done for all bits and places at once by adders made of logical operations, whose digits are whole rows: Harley and Seal's way to count bits, as in
 * Muła, Kurz and Lemire, "Faster population counts using AVX2 instructions", 2018.
 *
 * <p>Not safe for use by several threads.
 */
final class UlpCounts {
    private static final int ROW = FloatChunk.ROW;

    /** Rows that are counted in one round. */
    static final int ROWS = 16;

    /** Enough digits for {@link #MOST_ROUNDS}. */
    private static final int DIGITS = 16;

    /** After so many rounds, a digit more would be needed. */
    private static final int MOST_ROUNDS = (1 << DIGITS) / ROWS - 1;

    private final FloatLayout layout;
    private final long[][] pending = new long[ROWS][ROW];
    private final long[][] digits = new long[DIGITS][ROW];
    private final long[] zeros = new long[ROW];
    private final long[] twos = new long[ROW];
    private final long[] moreTwos = new long[ROW];
    private final long[][] fours = new long[2][ROW];
    private final long[][] eights = new long[2][ROW];
    private final long[] reached;
    private int used;
    private int rounds;

    UlpCounts(FloatLayout layout) {
        this.layout = layout;
        this.reached = new long[layout.bits + 1];
    }

    /** A row for the next distances; the caller fills it before the next call of any method. */
    long[] nextRow() {
        if (used == ROWS) {
            countPending();
        }
        return pending[used++];
    }

    private void countPending() {
        for (int row = used; row < ROWS; row++) {
            Arrays.fill(pending[row], 0);
        }
        for (int row = 0; row < used; row++) {
            fill(pending[row]);
        }
        for (int group = 0; group < ROWS / 4; group++) {
            int row = 4 * group;
            add(digits[0], pending[row], pending[row + 1], twos);
            add(digits[0], pending[row + 2], pending[row + 3], moreTwos);
            add(digits[1], twos, moreTwos, fours[group % 2]);
            if (group % 2 == 1) {
                add(digits[2], fours[0], fours[1], eights[group / 2]);
            }
        }
        long[] carry = twos;
        add(digits[3], eights[0], eights[1], carry);
        for (int digit = 4; digit < DIGITS; digit++) {
            add(digits[digit], carry, zeros, carry);
        }
        used = 0;
        if (++rounds == MOST_ROUNDS) {
            readDigits();
        }
    }

    /** Sets all bits below the highest one in each place. */
    private void fill(long[] values) {
        fill(values, kept(1), kept(2), kept(4), kept(8));
        if (layout.bits > 16) {
            fill(values, 16, kept(16));
        }
    }

    /** The bits that come from the same place when a word is shifted right. */
    private long kept(int shift) {
        return layout.inEach((1L << (layout.bits - shift)) - 1);
    }

    private static void fill(long[] values, long one, long two, long four, long eight) {
        for (int i = 0; i < ROW; i++) {
            long bits = values[i];
            bits |= (bits >>> 1) & one;
            bits |= (bits >>> 2) & two;
            bits |= (bits >>> 4) & four;
            values[i] = bits | ((bits >>> 8) & eight);
        }
    }

    private static void fill(long[] values, int shift, long kept) {
        for (int i = 0; i < ROW; i++) {
            values[i] |= (values[i] >>> shift) & kept;
        }
    }

    /** Adds two bits in each place to a digit; what is carried has twice the weight. */
    private static void add(long[] digit, long[] first, long[] second, long[] carry) {
        for (int i = 0; i < ROW; i++) {
            long a = first[i];
            long b = second[i];
            long half = digit[i] ^ a;
            long carried = (digit[i] & a) | (half & b);
            digit[i] = half ^ b;
            carry[i] = carried;
        }
    }

    private void readDigits() {
        for (int digit = 0; digit < DIGITS && ROWS * (long) rounds >> digit > 0; digit++) {
            for (int bit = 0; bit < layout.bits; bit++) {
                reached[bit] += ones(digits[digit], bit) << digit;
            }
            Arrays.fill(digits[digit], 0);
        }
        rounds = 0;
    }

    /** How often a bit is set, over all places. */
    private long ones(long[] digit, int bit) {
        long inPlaces = sum(digit, bit, layout.inEach(1));
        long ones = 0;
        for (int place = 0; place < layout.perWord(); place++) {
            ones += layout.part(inPlaces, place);
        }
        return ones;
    }

    private static long sum(long[] digit, int bit, long units) {
        long sum = 0;
        for (int i = 0; i < ROW; i++) {
            sum += (digit[i] >>> bit) & units;
        }
        return sum;
    }

    /** Adds to {@code counts[k]} how many distances had {@code k} binary digits, from 1 on, and begins anew. */
    void drainTo(long[] counts) {
        if (rounds == 0 && reached[0] == 0) {
            countEach(counts);
            return;
        }
        if (used > 0) {
            countPending();
        }
        readDigits();
        for (int bit = 0; bit < layout.bits; bit++) {
            counts[bit + 1] += reached[bit] - reached[bit + 1];
            reached[bit] = 0;
        }
    }

    /** Few distances are counted faster one by one. */
    private void countEach(long[] counts) {
        for (int row = 0; row < used; row++) {
            for (long word : pending[row]) {
                for (int place = 0; word != 0 && place < layout.perWord(); place++) {
                    long distance = layout.part(word, place);
                    if (distance != 0) {
                        counts[Long.SIZE - Long.numberOfLeadingZeros(distance)]++;
                    }
                }
            }
        }
        used = 0;
    }
}
