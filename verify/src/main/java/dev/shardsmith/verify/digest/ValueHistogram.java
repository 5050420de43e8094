package dev.shardsmith.verify.digest;

import java.util.Optional;

/**
 * How many values fall where, counted without knowing the range beforehand.
 *
 * <p>Bins are the sign, the exponent and the top seven mantissa bits of the value as a {@code float}: 128 bins for each
 * power of two, so that weights about 1 are told apart. Counts are exact; {@link #linear} spreads them over equal steps.
 */
public final class ValueHistogram {
    private static final int SHIFT = 16;
    private static final int BINS = 1 << (32 - SHIFT);

    private final long[] counts = new long[BINS];

    /**
     * A picture: how many values lie in each of some equal steps.
     *
     * @param min lower edge of the first
     * @param max upper edge of the last
     * @param counts of each; one if {@code min} and {@code max} are equal. They add up to the number of finite values
     */
    public record Bars(double min, double max, long[] counts) {}

    /** Adds a value that occurred {@code times} times. */
    void add(float value, int times) {
        counts[Float.floatToRawIntBits(value) >>> SHIFT] += times;
    }

    /** Adds the floats that these bits are. */
    void add(int[] bits, int count) {
        for (int i = 0; i < count; i++) {
            counts[bits[i] >>> SHIFT]++;
        }
    }

    /**
     * The finite values in {@code bars} equal steps from {@code min} to {@code max}; empty if there are none. A bin that lies
     * across an edge is shared out, in whole values, as if its values lay evenly in it.
     */
    public Optional<Bars> linear(double min, double max, int bars) {
        if (!(min <= max)) {
            return Optional.empty();
        }
        EqualSteps steps = EqualSteps.of(min, max, bars);
        double[] sums = new double[steps.bars()];
        long total = 0;
        for (int bin = 0; bin < BINS; bin++) {
            float low = Float.intBitsToFloat(bin << SHIFT);
            if (counts[bin] == 0 || Float.isNaN(low)) {
                continue;
            }
            total += counts[bin];
            if (Float.isInfinite(low)) {
                // A double that is too large for a float: never an infinity, which is no finite value.
                sums[low > 0 ? sums.length - 1 : 0] += counts[bin];
            } else {
                spread(bin, low, steps, sums);
            }
        }
        return Optional.of(new Bars(min, max, whole(sums, total)));
    }

    /** Whole numbers whose partial sums are nearest to those of {@code sums}, so that no value is lost or told twice. */
    private static long[] whole(double[] sums, long total) {
        long[] result = new long[sums.length];
        double running = 0;
        long given = 0;
        for (int i = 0; i < result.length; i++) {
            running += sums[i];
            long upTo = i == result.length - 1 ? total : Math.min(total, Math.round(running));
            result[i] = upTo - given;
            given = upTo;
        }
        return result;
    }

    private void spread(int bin, float low, EqualSteps steps, double[] sums) {
        float next = Float.intBitsToFloat((bin << SHIFT) + (1 << SHIFT));
        double high = Float.isFinite(next) ? next : low * (1 + 1.0 / (1 << (23 - SHIFT)));
        // The bin of zero holds subnormals too; almost always it holds zeros alone, which belong at one place.
        boolean zero = (bin << SHIFT & 0x7fffffff) == 0;
        double from = zero ? 0 : Math.max(steps.min(), Math.min(low, high));
        double to = zero ? 0 : Math.min(steps.max(), Math.max(low, high));
        int first = steps.place(from);
        int last = steps.place(to);
        if (!(to > from) || first == last) {
            sums[first] += counts[bin];
            return;
        }
        double rest = counts[bin];
        for (int i = first; i < last; i++) {
            double share = counts[bin] * Math.max(0, (steps.edge(i + 1) - Math.max(from, steps.edge(i))) / (to - from));
            share = Math.min(rest, share);
            sums[i] += share;
            rest -= share;
        }
        sums[last] += rest;
    }
}
