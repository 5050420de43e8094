package dev.shardsmith.verify.diff;

import java.util.Arrays;
import java.util.List;

/**
 * How two tensors of one shape differ, gathered block by block and merged in the order of the blocks.
 *
 * <p>Sums and maxima are over pairs of finite values; pairs with a NaN or an infinity on one side are counted apart.
 * Complex elements count as two values.
 */
public final class TensorComparison {
    /** Worst elements that are kept. */
    public static final int WORST = 5;

    private static final int ULPS = 65;

    long values;
    long differing;
    long beyond;
    long nanMismatches;
    long infinityMismatches;

    /** Pairs with a NaN or an infinity on either side. */
    long notFinite;

    double maxAbs;
    double maxRel;
    long maxUlp;
    long[] ulps = new long[ULPS];
    double squaredDifferences;
    double dot;
    double leftSquares;
    double rightSquares;
    final WorstElements worst = new WorstElements(WORST);

    /** Adds the comparison of the block that comes after this one's. */
    public void merge(TensorComparison next) {
        values += next.values;
        differing += next.differing;
        beyond += next.beyond;
        nanMismatches += next.nanMismatches;
        infinityMismatches += next.infinityMismatches;
        notFinite += next.notFinite;
        maxAbs = Math.max(maxAbs, next.maxAbs);
        maxRel = Math.max(maxRel, next.maxRel);
        maxUlp = Math.max(maxUlp, next.maxUlp);
        for (int i = 0; i < ulps.length; i++) {
            ulps[i] += next.ulps[i];
        }
        squaredDifferences += next.squaredDifferences;
        dot += next.dot;
        leftSquares += next.leftSquares;
        rightSquares += next.rightSquares;
        worst.addAll(next.worst);
    }

    /** Lets go of what is needed only while values are added: there may be a million results. Nothing can be added then. */
    TensorComparison complete() {
        int used = ULPS;
        while (used > 0 && ulps[used - 1] == 0) {
            used--;
        }
        ulps = Arrays.copyOf(ulps, used);
        worst.complete();
        return this;
    }

    /** Number of values compared. */
    public long values() {
        return values;
    }

    /** Values whose bits differ; where the types differ, whose values differ. */
    public long differing() {
        return differing;
    }

    /** Values that differ by more than the tolerance allows; equal to {@link #differing} if it allows nothing. */
    public long beyond() {
        return beyond;
    }

    /** Pairs with NaN on one side only. */
    public long nanMismatches() {
        return nanMismatches;
    }

    /** Pairs with an infinity on one side, and something else that is not NaN on the other. */
    public long infinityMismatches() {
        return infinityMismatches;
    }

    /** The largest absolute difference of two finite values. */
    public double maxAbs() {
        return maxAbs;
    }

    /** The largest difference of two finite values in proportion to the larger magnitude, from 0 to 2. */
    public double maxRel() {
        return maxRel;
    }

    /** The largest difference in units in the last place of the coarser type. */
    public long maxUlp() {
        return maxUlp;
    }

    /**
     * How many differing pairs of finite values lie how far apart: entry 0 counts those 0 units in the last place apart,
     * entry {@code k} those from 2^(k-1) to 2^k - 1 units.
     */
    public long[] ulpHistogram() {
        return Arrays.copyOf(ulps, ULPS);
    }

    /** The root of the mean squared difference of the pairs of finite values; 0 if there are none. */
    public double rms() {
        long finite = values - notFinite;
        return finite == 0 ? 0 : Math.sqrt(squaredDifferences / finite);
    }

    /** The cosine of the angle between the two tensors seen as vectors; 1 if both are zero. */
    public double cosine() {
        if (leftSquares == 0 && rightSquares == 0) {
            return 1;
        }
        double norms = Math.sqrt(leftSquares) * Math.sqrt(rightSquares);
        return norms == 0 ? 0 : Math.max(-1, Math.min(1, dot / norms));
    }

    /** The worst elements, worst first. */
    public List<WorstElement> worst() {
        return worst.list();
    }

    /** Takes in one pair whose bits or values differ; the sums are made elsewhere. */
    void addDifferent(long index, double left, double right, long steps, Tolerance tolerance) {
        boolean leftNan = Double.isNaN(left);
        boolean rightNan = Double.isNaN(right);
        if (leftNan || rightNan) {
            differing++;
            boolean mismatch = leftNan != rightNan;
            nanMismatches += mismatch ? 1 : 0;
            beyond += mismatch || tolerance.isExact() ? 1 : 0;
            keep(index, left, right, mismatch ? Double.POSITIVE_INFINITY : 0);
            return;
        }
        if (Double.isInfinite(left) || Double.isInfinite(right)) {
            differing++;
            infinityMismatches++;
            beyond++;
            keep(index, left, right, Double.POSITIVE_INFINITY);
            return;
        }
        addFinite(index, left, right, Math.abs(left - right), steps, tolerance);
    }

    /**
     * Takes in one pair of finite values that is not yet counted.
     *
     * @param difference how far apart they are, where {@code left} and {@code right} are rounded and do not tell
     */
    void addFinite(long index, double left, double right, double difference, long steps, Tolerance tolerance) {
        differing++;
        maxUlp = Math.max(maxUlp, steps);
        ulps[64 - Long.numberOfLeadingZeros(steps)]++;
        double larger = Math.max(Math.abs(left), Math.abs(right));
        if (tolerance.isExact() || !tolerance.allows(difference, larger, steps)) {
            beyond++;
        }
        extreme(index, left, right, difference);
    }

    /** Takes a pair of finite values that differ into the maxima and the worst elements, and nothing else. */
    void extreme(long index, double left, double right) {
        extreme(index, left, right, Math.abs(left - right));
    }

    private void extreme(long index, double left, double right, double difference) {
        double larger = Math.max(Math.abs(left), Math.abs(right));
        maxAbs = Math.max(maxAbs, difference);
        // Most pairs are below the maximum: the product saves them the division.
        if (difference > maxRel * larger) {
            double ratio = difference < Double.POSITIVE_INFINITY
                    ? difference / larger
                    : Math.abs(left / larger - right / larger);
            maxRel = Math.max(maxRel, ratio);
        }
        keep(index, left, right, difference);
    }

    private void keep(long index, double left, double right, double difference) {
        if (difference > worst.threshold()) {
            worst.add(new WorstElement(index, left, right, difference));
        }
    }
}
