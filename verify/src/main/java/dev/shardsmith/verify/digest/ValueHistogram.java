package dev.shardsmith.verify.digest;

import java.util.ArrayList;
import java.util.List;

/**
 * How many values fall where, counted without knowing the range beforehand.
 *
 * <p>Bins are the sign, the exponent and the top four mantissa bits of the value as a {@code float}: sixteen bins for each
 * power of two. Counts are exact; {@link #linear} spreads them over equal steps for a picture.
 */
public final class ValueHistogram {
    private static final int SHIFT = 19;
    private static final int BINS = 1 << (32 - SHIFT);

    private final long[] counts = new long[BINS];

    /**
     * One bar of a picture.
     *
     * @param from lower edge
     * @param to upper edge
     * @param count values between them, rounded where a bin lies across an edge
     */
    public record Bar(double from, double to, double count) {}

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

    /** The finite values spread over {@code bars} equal steps from {@code min} to {@code max}; empty if there are none. */
    public List<Bar> linear(double min, double max, int bars) {
        List<Bar> result = new ArrayList<>();
        if (!(min <= max)) {
            return result;
        }
        double step = max > min ? (max - min) / bars : 1;
        int used = max > min ? bars : 1;
        double[] sums = new double[used];
        for (int bin = 0; bin < BINS; bin++) {
            if (counts[bin] > 0) {
                spread(bin, min, max, step, sums);
            }
        }
        for (int i = 0; i < used; i++) {
            result.add(new Bar(min + i * step, i == used - 1 ? max : min + (i + 1) * step, sums[i]));
        }
        return result;
    }

    private void spread(int bin, double min, double max, double step, double[] sums) {
        float low = Float.intBitsToFloat(bin << SHIFT);
        if (Float.isNaN(low) || Float.isInfinite(low)) {
            return;
        }
        float next = Float.intBitsToFloat((bin << SHIFT) + (1 << SHIFT));
        double high = Float.isFinite(next) ? next : low * (1 + 1.0 / 16);
        // The bin of zero holds subnormals too; almost always it holds zeros alone, which belong at one place.
        boolean zero = (bin << SHIFT & 0x7fffffff) == 0;
        double from = zero ? 0 : Math.max(min, Math.min(low, high));
        double to = zero ? 0 : Math.min(max, Math.max(low, high));
        if (!(to > from)) {
            sums[place(from, min, step, sums.length)] += counts[bin];
            return;
        }
        int first = place(from, min, step, sums.length);
        int last = place(to, min, step, sums.length);
        for (int i = first; i <= last; i++) {
            double left = Math.max(from, min + i * step);
            double right = i == last ? to : Math.min(to, min + (i + 1) * step);
            sums[i] += counts[bin] * Math.max(0, right - left) / (to - from);
        }
    }

    private static int place(double value, double min, double step, int bars) {
        return (int) Math.max(0, Math.min(bars - 1, Math.floor((value - min) / step)));
    }
}
