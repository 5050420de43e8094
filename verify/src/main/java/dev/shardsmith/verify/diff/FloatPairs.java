package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.ElementDecoder.Domain;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.LongBuffer;
import java.util.Optional;

/**
 * The fast path for finite values of types that are exact as floats, which nearly all weights are.
 *
 * <p>It works in short loops over arrays that the compiler turns into vector instructions. Maxima and the worst elements
 * change in few chunks, so a cheap test that never misses one comes first. What it cannot do, values that are not finite and
 * distances beyond 2^31, it leaves to the general path; results are the same on both.
 */
final class FloatPairs {
    private static final int CHUNK = ElementDecoder.CHUNK;

    private static final int BUCKETS = 64;

    private final FloatLoader leftLoader;
    private final FloatLoader rightLoader;
    private final Tolerance tolerance;
    private final LaneSums sums;
    private final FloatChunk left = new FloatChunk();
    private final FloatChunk right = new FloatChunk();
    private final double[] leftDoubles = new double[CHUNK];
    private final double[] rightDoubles = new double[CHUNK];
    private final int[] steps = new int[CHUNK];
    private final double[] excess = new double[CHUNK];
    private final long[] excessBits = new long[CHUNK];
    private final DoubleBuffer doubles;
    private final LongBuffer longs;

    /** Four histograms side by side, so that neighbours rarely wait for each other's count. */
    private final int[] ulps = new int[4 * BUCKETS];

    private FloatPairs(FloatLoader leftLoader, FloatLoader rightLoader, Tolerance tolerance, LaneSums sums) {
        this.leftLoader = leftLoader;
        this.rightLoader = rightLoader;
        this.tolerance = tolerance;
        this.sums = sums;
        ByteBuffer shared = ByteBuffer.allocate(CHUNK * Double.BYTES).order(ByteOrder.nativeOrder());
        this.doubles = shared.asDoubleBuffer();
        this.longs = shared.asLongBuffer();
    }

    /** The fast path for two types, whose sums go to {@code sums}; empty if not all of their values are floats. */
    static Optional<FloatPairs> of(
            ElementDecoder left, ElementDecoder right, UlpScale scale, Tolerance tolerance, LaneSums sums) {
        if (left.domain() != Domain.FLOAT || right.domain() != Domain.FLOAT) {
            return Optional.empty();
        }
        boolean sameType = left.dtype() == right.dtype();
        if (sameType && HalfFloats.handles(left.dtype())) {
            HalfFloats loader = new HalfFloats(left.dtype());
            return Optional.of(new FloatPairs(loader, loader, tolerance, sums));
        }
        return Optional.of(new FloatPairs(
                new DecodedFloats(left, scale, sameType), new DecodedFloats(right, scale, sameType), tolerance, sums));
    }

    /**
     * Adds the sums of {@code count} values that are the same on both sides.
     *
     * @return false if nothing was done, because this is for the general path
     */
    boolean addSame(ByteBuffer block, int first, int count) {
        if (!leftLoader.load(block, first, count, left)) {
            return false;
        }
        widen(left.values, count, leftDoubles);
        sums.addSame(leftDoubles, count);
        return true;
    }

    /**
     * Compares {@code count} values from element {@code first} of two blocks on.
     *
     * @return false if nothing was done, because this is for the general path
     */
    boolean compare(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int count, long index, TensorComparison result) {
        if (!leftLoader.load(leftBlock, first, count, left)
                || !rightLoader.load(rightBlock, first, count, right)
                || distances(left.numbers, right.numbers, steps, count) < 0) {
            return false;
        }
        widen(left.values, count, leftDoubles);
        widen(right.values, count, rightDoubles);
        sums.add(leftDoubles, rightDoubles, count);
        int different = differing(left.bits, right.bits, count);
        result.differing += different;
        result.beyond += tolerance.isExact() ? different : beyond(count);
        if (above(steps, count, (int) Math.min(Integer.MAX_VALUE, result.maxUlp)) > 0) {
            result.maxUlp = Math.max(result.maxUlp, largest(steps, count));
        }
        countUlps(steps, count, ulps);
        result.ulps[0] -= count - different;
        if (mayHoldExtremes(count, result)) {
            extremes(count, index, result);
        }
        return true;
    }

    private static void widen(float[] values, int count, double[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = values[i];
        }
    }

    /** Distances in units in the last place; negative if one does not fit. */
    private static int distances(int[] a, int[] b, int[] out, int count) {
        int overflow = 0;
        for (int i = 0; i < count; i++) {
            int distance = a[i] - b[i];
            // Numbers of different sign may be more than 2^31 apart.
            overflow |= (a[i] ^ b[i]) & (a[i] ^ distance);
            int sign = distance >> 31;
            out[i] = (distance ^ sign) - sign;
        }
        return overflow;
    }

    private static int differing(int[] a, int[] b, int count) {
        int different = 0;
        for (int i = 0; i < count; i++) {
            int bits = a[i] ^ b[i];
            different += (bits | -bits) >>> 31;
        }
        return different;
    }

    /** How many are larger than {@code limit}; none is negative. */
    private static int above(int[] values, int count, int limit) {
        int above = 0;
        for (int i = 0; i < count; i++) {
            above += (limit - values[i]) >>> 31;
        }
        return above;
    }

    private static int largest(int[] values, int count) {
        int largest = 0;
        for (int i = 0; i < count; i++) {
            largest = Math.max(largest, values[i]);
        }
        return largest;
    }

    private static void countUlps(int[] steps, int count, int[] ulps) {
        int i = 0;
        for (; i + 3 < count; i += 4) {
            ulps[bucket(steps[i])]++;
            ulps[BUCKETS + bucket(steps[i + 1])]++;
            ulps[2 * BUCKETS + bucket(steps[i + 2])]++;
            ulps[3 * BUCKETS + bucket(steps[i + 3])]++;
        }
        for (; i < count; i++) {
            ulps[bucket(steps[i])]++;
        }
    }

    /** Adds what was counted since the last call to a result. */
    void drainTo(TensorComparison result) {
        for (int place = 0; place < ulps.length; place++) {
            result.ulps[place % BUCKETS] += ulps[place];
            ulps[place] = 0;
        }
    }

    private static int bucket(int steps) {
        return Integer.SIZE - Integer.numberOfLeadingZeros(steps);
    }

    /** False if no pair can change the maxima or the worst elements of the result. */
    private boolean mayHoldExtremes(int count, TensorComparison result) {
        double absolute = Math.min(result.worst.threshold(), result.maxAbs);
        if (absolute < 0) {
            return true;
        }
        // No ratio is above 2; once it is reached, which is common, nothing shall look for it.
        double relative = result.maxRel < 2 ? result.maxRel : 3;
        excess(leftDoubles, rightDoubles, excess, count, absolute, relative);
        doubles.put(0, excess, 0, count);
        longs.get(0, excessBits, 0, count);
        return negative(excessBits, count) > 0;
    }

    /** Negative where the difference is above {@code absolute}, or above {@code relative} of the larger magnitude. */
    private static void excess(double[] a, double[] b, double[] out, int count, double absolute, double relative) {
        for (int i = 0; i < count; i++) {
            double larger = Math.max(Math.abs(a[i]), Math.abs(b[i]));
            out[i] = Math.min(absolute, relative * larger) - Math.abs(a[i] - b[i]);
        }
    }

    private static long negative(long[] bits, int count) {
        long negative = 0;
        for (int i = 0; i < count; i++) {
            negative += bits[i] >>> 63;
        }
        return negative;
    }

    private void extremes(int count, long index, TensorComparison result) {
        for (int position = 0; position < count; position++) {
            int i = leftLoader.lane(position, count);
            if (left.bits[i] != right.bits[i]) {
                result.extreme(index + position, leftDoubles[i], rightDoubles[i]);
            }
        }
    }

    private int beyond(int count) {
        int beyond = 0;
        for (int i = 0; i < count; i++) {
            double a = leftDoubles[i];
            double b = rightDoubles[i];
            double larger = Math.max(Math.abs(a), Math.abs(b));
            boolean allowed = left.bits[i] == right.bits[i] || tolerance.allows(Math.abs(a - b), larger, steps[i]);
            beyond += allowed ? 0 : 1;
        }
        return beyond;
    }
}
