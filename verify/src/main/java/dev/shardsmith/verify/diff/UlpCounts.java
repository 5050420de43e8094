package dev.shardsmith.verify.diff;

import java.util.Arrays;

/**
 * Counts distances by the power of two that they reach, many at once.
 *
 * <p>Counting one after the other costs several instructions and a dependent store for each. Here a distance first becomes
 * ones up to its highest bit; then bit {@code k} has to be counted, over all distances. That is done for all bits and places
 * at once by adders made of logical operations, whose digits are whole rows: Harley and Seal's way to count bits, as in
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

    private final int[][] pending = new int[ROWS][ROW];
    private final int[][] digits = new int[DIGITS][ROW];
    private final int[] zeros = new int[ROW];
    private final int[] twos = new int[ROW];
    private final int[] moreTwos = new int[ROW];
    private final int[][] fours = new int[2][ROW];
    private final int[][] eights = new int[2][ROW];
    private final long[] reached = new long[Integer.SIZE + 1];
    private int used;
    private int rounds;

    /** A row for the next distances, which are unsigned; the caller fills it before the next call of any method. */
    int[] nextRow() {
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
        int[] carry = twos;
        add(digits[3], eights[0], eights[1], carry);
        for (int digit = 4; digit < DIGITS; digit++) {
            add(digits[digit], carry, zeros, carry);
        }
        used = 0;
        if (++rounds == MOST_ROUNDS) {
            readDigits();
        }
    }

    /** Sets all bits below the highest one. */
    private static void fill(int[] values) {
        for (int i = 0; i < ROW; i++) {
            int bits = values[i];
            bits |= bits >>> 1;
            bits |= bits >>> 2;
            bits |= bits >>> 4;
            bits |= bits >>> 8;
            values[i] = bits | bits >>> 16;
        }
    }

    /** Adds two bits in each place to a digit; what is carried has twice the weight. */
    private static void add(int[] digit, int[] first, int[] second, int[] carry) {
        for (int i = 0; i < ROW; i++) {
            int a = first[i];
            int b = second[i];
            int half = digit[i] ^ a;
            int carried = (digit[i] & a) | (half & b);
            digit[i] = half ^ b;
            carry[i] = carried;
        }
    }

    private void readDigits() {
        for (int digit = 0; digit < DIGITS && ROWS * (long) rounds >> digit > 0; digit++) {
            for (int bit = 0; bit < Integer.SIZE; bit++) {
                reached[bit] += (long) ones(digits[digit], bit) << digit;
            }
            Arrays.fill(digits[digit], 0);
        }
        rounds = 0;
    }

    private static int ones(int[] digit, int bit) {
        int ones = 0;
        for (int i = 0; i < ROW; i++) {
            ones += (digit[i] >>> bit) & 1;
        }
        return ones;
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
        for (int bit = 0; bit < Integer.SIZE; bit++) {
            counts[bit + 1] += reached[bit] - reached[bit + 1];
            reached[bit] = 0;
        }
    }

    /** Few distances are counted faster one by one. */
    private void countEach(long[] counts) {
        for (int row = 0; row < used; row++) {
            for (int distance : pending[row]) {
                if (distance != 0) {
                    counts[Integer.SIZE - Integer.numberOfLeadingZeros(distance)]++;
                }
            }
        }
        used = 0;
    }
}
