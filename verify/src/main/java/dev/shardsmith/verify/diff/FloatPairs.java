package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.ElementDecoder.Domain;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * The fast path for finite values of types that are exact as floats, which nearly all weights are.
 *
 * <p>Counts, sums and distances are gathered for each place of a row, and drained later. Maxima and the worst elements change in few chunks,
 * so a cheap test that never misses one comes first. Values that are not finite are left to the general path; results are the
 * same on both.
 */
final class FloatPairs {
    private static final int ROW = FloatChunk.ROW;

    /** No two values are farther apart than twice the larger magnitude: more allows no more. */
    private static final double LARGEST_RELATIVE = 2;

    /** Nor farther than twice the largest float. */
    private static final double LARGEST_ABSOLUTE = 0x1p130;

    private final FloatLoader leftLoader;
    private final FloatLoader rightLoader;
    private final FloatLayout layout;
    private final boolean sameType;
    private final Tolerance tolerance;
    private final LaneSums sums;
    private final FloatChunk left;
    private final FloatChunk right;
    private final UlpCounts ulps;
    private final long[] different = new long[ROW];
    private final long[] flags = new long[ROW];
    private final long[] noFlags = new long[ROW];
    private final long[] opposite = new long[ROW];
    private final double[] squares = new double[ROW];
    private final double[] figures = new double[ROW];
    private final double[] excess = new double[ROW];
    private final double[] noExcess = new double[ROW];
    private final long[][] steps;
    private int counted;
    private long gathered;

    private FloatPairs(
            FloatLayout layout,
            FloatLoader leftLoader,
            FloatLoader rightLoader,
            boolean sameType,
            Tolerance tolerance,
            LaneSums sums) {
        this.layout = layout;
        this.leftLoader = leftLoader;
        this.rightLoader = rightLoader;
        this.sameType = sameType;
        this.tolerance = tolerance;
        this.sums = sums;
        this.left = leftLoader.newChunk();
        this.right = rightLoader.newChunk();
        this.ulps = new UlpCounts(layout);
        this.steps = new long[layout.wordRows()][];
    }

    /** The fast path for two types, whose sums go to {@code sums}; empty if not all of their values are floats. */
    static Optional<FloatPairs> of(
            ElementDecoder left, ElementDecoder right, UlpScale scale, Tolerance tolerance, LaneSums sums) {
        if (left.domain() != Domain.FLOAT || right.domain() != Domain.FLOAT) {
            return Optional.empty();
        }
        boolean sameType = left.dtype() == right.dtype();
        Optional<FloatLayout> stored = sameType ? FloatLayout.of(left.dtype()) : Optional.empty();
        if (stored.isPresent()) {
            int bytes = left.dtype().byteSize();
            StoredFloats leftLoader = new StoredFloats(stored.get(), bytes);
            StoredFloats rightLoader = new StoredFloats(stored.get(), bytes);
            return Optional.of(new FloatPairs(stored.get(), leftLoader, rightLoader, true, tolerance, sums));
        }
        return Optional.of(new FloatPairs(
                FloatLayout.SINGLE,
                new DecodedFloats(left, scale, sameType),
                new DecodedFloats(right, scale, sameType),
                sameType,
                tolerance,
                sums));
    }

    /**
     * Compares {@code count} values from element {@code first} of two blocks on, which is a multiple of a chunk.
     *
     * @return false if nothing was done, because this is for the general path
     */
    boolean compare(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int count, long index, TensorComparison result) {
        leftLoader.load(leftBlock, first, count, left);
        rightLoader.load(rightBlock, first, count, right);
        if (!areFinite()) {
            return false;
        }
        leftLoader.widen(left);
        if (areSame()) {
            sums.addSame(left.values);
            return true;
        }
        rightLoader.widen(right);
        sums.add(left.values, right.values, squares);
        countDifferent();
        measure();
        if (exceed(result.maxUlp)) {
            result.maxUlp = largest(count);
        }
        if (!tolerance.isExact()) {
            result.beyond += tolerance.ulps() == 0 ? beyond() : beyondEach(count);
        }
        if (mayHoldExtremes(result)) {
            extremes(count, index, result);
        }
        return true;
    }

    private boolean areFinite() {
        Arrays.fill(flags, 0);
        for (int row = 0; row < layout.wordRows(); row++) {
            exponents(left.words[row], right.words[row], layout.exponents, layout.exponentUnits, layout.signs, flags);
        }
        return Arrays.equals(flags, noFlags);
    }

    /** Sets a sign wherever an exponent is all ones. */
    private static void exponents(long[] a, long[] b, long exponents, long units, long signs, long[] flags) {
        for (int i = 0; i < ROW; i++) {
            flags[i] |= (((a[i] & exponents) + units) | ((b[i] & exponents) + units)) & signs;
        }
    }

    private boolean areSame() {
        for (int row = 0; row < layout.wordRows(); row++) {
            if (!Arrays.equals(left.words[row], right.words[row])) {
                return false;
            }
        }
        return true;
    }

    private void countDifferent() {
        for (int row = 0; row < layout.wordRows(); row++) {
            different(left.words[row], right.words[row], layout.signs, layout.bits - 1, different);
        }
        counted += layout.wordRows();
        if (counted == (1 << 16) - layout.wordRows()) {
            // One row more could be more than a place of 16 bits holds.
            gatherDifferent();
        }
    }

    /** Adds one to a place of a counter where the values of that place differ. */
    private static void different(long[] a, long[] b, long signs, int shift, long[] counts) {
        for (int i = 0; i < ROW; i++) {
            long bits = a[i] ^ b[i];
            // The sum carries into the sign if a bit below it is set.
            counts[i] += ((((bits & ~signs) + ~signs) | bits) & signs) >>> shift;
        }
    }

    /** Distances in units in the last place, unsigned. */
    private void measure() {
        for (int row = 0; row < layout.wordRows(); row++) {
            steps[row] = ulps.nextRow();
            long[] a = left.numbers[row];
            long[] b = right.numbers[row];
            apart(a, b, layout.signs, layout.bits - 1, steps[row]);
            opposite(a, b, layout.signs, layout.bits - 1, opposite);
            addOpposite(a, b, layout.signs, opposite, steps[row]);
        }
    }

    /** How far magnitudes are apart. */
    private static void apart(long[] a, long[] b, long signs, int shift, long[] out) {
        for (int i = 0; i < ROW; i++) {
            // The sign that is set first is what each place borrows from, instead of its neighbour.
            long difference = (((a[i] & ~signs) | signs) - (b[i] & ~signs)) ^ signs;
            long negative = difference & signs;
            long one = negative >>> shift;
            out[i] = (difference ^ ((negative + negative) - one)) + one;
        }
    }

    /** All bits of each place where the signs differ. */
    private static void opposite(long[] a, long[] b, long signs, int shift, long[] out) {
        for (int i = 0; i < ROW; i++) {
            long differ = (a[i] ^ b[i]) & signs;
            out[i] = (differ + differ) - (differ >>> shift);
        }
    }

    /** The sum of the magnitudes takes the place of their difference where the signs are opposite. */
    private static void addOpposite(long[] a, long[] b, long signs, long[] opposite, long[] out) {
        for (int i = 0; i < ROW; i++) {
            long sum = (a[i] & ~signs) + (b[i] & ~signs);
            out[i] = out[i] ^ ((out[i] ^ sum) & opposite[i]);
        }
    }

    /** Whether a distance is above {@code limit}. */
    private boolean exceed(long limit) {
        long highest = (1L << layout.bits) - 1;
        long room = layout.inEach(highest - Math.min(limit, highest));
        Arrays.fill(flags, 0);
        for (int row = 0; row < layout.wordRows(); row++) {
            overflows(steps[row], room, layout.signs, flags);
        }
        return !Arrays.equals(flags, noFlags);
    }

    /** Sets the sign of each place where the sum of two unsigned numbers does not fit. */
    private static void overflows(long[] values, long added, long signs, long[] flags) {
        for (int i = 0; i < ROW; i++) {
            long below = (values[i] & ~signs) + (added & ~signs);
            flags[i] |= ((values[i] & added) | ((values[i] | added) & below)) & signs;
        }
    }

    private long largest(int count) {
        long largest = 0;
        for (int position = 0; position < count; position++) {
            largest = Math.max(largest, step(position));
        }
        return largest;
    }

    private long step(int position) {
        int word = position / layout.perWord();
        return layout.part(steps[word / ROW][word % ROW], position);
    }

    /** False if no pair can change the maxima or the worst elements of the result. */
    private boolean mayHoldExtremes(TensorComparison result) {
        double absolute = Math.min(result.worst.threshold(), result.maxAbs);
        if (absolute < 0) {
            return true;
        }
        // A difference above the limit makes a sum of squares above the limit's square, but for rounding.
        if (hasAbove(squares, absolute * absolute * (1 - 0x1p-50))) {
            differencesAbove(left.values, right.values, absolute, excess);
            if (!Arrays.equals(excess, noExcess)) {
                return true;
            }
        }
        // No ratio is above 2; once it is reached, which is common, nothing has to look for it.
        if (result.maxRel >= 2) {
            return false;
        }
        Arrays.fill(figures, 0);
        for (int row = 0; row < left.values.length; row++) {
            largestExcess(left.values[row], right.values[row], result.maxRel, figures);
        }
        return hasAbove(figures, 0);
    }

    private boolean hasAbove(double[] values, double limit) {
        excess(values, limit, excess);
        return !Arrays.equals(excess, noExcess);
    }

    /** Twice of what is above the limit; zero where nothing is. */
    private static void excess(double[] values, double limit, double[] out) {
        for (int i = 0; i < ROW; i++) {
            out[i] = (values[i] - limit) + Math.abs(values[i] - limit);
        }
    }

    private static void differencesAbove(double[][] a, double[][] b, double limit, double[] out) {
        differencesAbove(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], limit, out);
    }

    /** Twice of what the differences of each place are above the limit, added up; zero where none is. */
    private static void differencesAbove(
            double[] a0,
            double[] a1,
            double[] a2,
            double[] a3,
            double[] b0,
            double[] b1,
            double[] b2,
            double[] b3,
            double limit,
            double[] out) {
        for (int i = 0; i < ROW; i++) {
            double d0 = Math.abs(a0[i] - b0[i]) - limit;
            double d1 = Math.abs(a1[i] - b1[i]) - limit;
            double d2 = Math.abs(a2[i] - b2[i]) - limit;
            double d3 = Math.abs(a3[i] - b3[i]) - limit;
            out[i] = (d0 + Math.abs(d0)) + (d1 + Math.abs(d1)) + (d2 + Math.abs(d2)) + (d3 + Math.abs(d3));
        }
    }

    /** How far a difference is above {@code relative} of the larger magnitude, at most. */
    private static void largestExcess(double[] a, double[] b, double relative, double[] largest) {
        for (int i = 0; i < ROW; i++) {
            double excess = Math.abs(a[i] - b[i]) - relative * Math.max(Math.abs(a[i]), Math.abs(b[i]));
            largest[i] = Math.max(largest[i], excess);
        }
    }

    private void extremes(int count, long index, TensorComparison result) {
        for (int position = 0; position < count; position++) {
            double a = left.value(position);
            double b = right.value(position);
            if (!isSame(a, b)) {
                result.extreme(index + position, a, b);
            }
        }
    }

    /** Zeros of different sign are different in one type, and the same between two. */
    private boolean isSame(double a, double b) {
        return sameType ? Double.doubleToRawLongBits(a) == Double.doubleToRawLongBits(b) : a == b;
    }

    /** Pairs that are farther apart than the tolerance allows, if it counts no units in the last place. */
    private long beyond() {
        Arrays.fill(figures, 0);
        double relative = Math.min(tolerance.relative(), LARGEST_RELATIVE);
        double absolute = Math.min(tolerance.absolute(), LARGEST_ABSOLUTE);
        for (int row = 0; row < left.values.length; row++) {
            countBeyond(left.values[row], right.values[row], relative, absolute, figures);
        }
        double beyond = 0;
        for (int i = 0; i < ROW; i++) {
            beyond += figures[i];
        }
        return (long) beyond;
    }

    /**
     * Adds one wherever {@link Tolerance#allows} says no: what the tolerance leaves is negative exactly there. Scaled down it is
     * above -1 and below 1, and not yet zero, since doubles whose difference is not zero are farther apart than that.
     */
    private static void countBeyond(double[] a, double[] b, double relative, double absolute, double[] counts) {
        for (int i = 0; i < ROW; i++) {
            double allowed = absolute + relative * Math.max(Math.abs(a[i]), Math.abs(b[i]));
            counts[i] -= Math.floor((allowed - Math.abs(a[i] - b[i])) * 0x1p-200);
        }
    }

    private int beyondEach(int count) {
        int beyond = 0;
        for (int position = 0; position < count; position++) {
            double a = left.value(position);
            double b = right.value(position);
            double larger = Math.max(Math.abs(a), Math.abs(b));
            beyond += isSame(a, b) || tolerance.allows(Math.abs(a - b), larger, step(position)) ? 0 : 1;
        }
        return beyond;
    }

    /** Adds what was counted since the last call to a result. */
    void drainTo(TensorComparison result) {
        gatherDifferent();
        result.differing += gathered;
        result.beyond += tolerance.isExact() ? gathered : 0;
        long[] distances = new long[layout.bits + 1];
        ulps.drainTo(distances);
        for (int digits = 1; digits < distances.length; digits++) {
            result.ulps[digits] += distances[digits];
            gathered -= distances[digits];
        }
        // The others differ in a zero's sign, or round to the same value of the coarser type.
        result.ulps[0] += gathered;
        gathered = 0;
    }

    private void gatherDifferent() {
        for (int i = 0; i < ROW; i++) {
            for (int place = 0; different[i] != 0 && place < layout.perWord(); place++) {
                gathered += layout.part(different[i], place);
            }
            different[i] = 0;
        }
        counted = 0;
    }
}
