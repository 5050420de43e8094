package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.ElementDecoder.Domain;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.LongBuffer;
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
    private static final int CHUNK = ElementDecoder.CHUNK;
    private static final int ROW = FloatChunk.ROW;

    /** A count of 16 bits, to which a chunk adds one for each of its rows of words. */
    private static final int MOST_CHUNKS = 0xffff / (CHUNK / ROW);

    private final FloatLoader leftLoader;
    private final FloatLoader rightLoader;
    private final FloatLayout layout;
    private final boolean sameType;
    private final Tolerance tolerance;
    private final LaneSums sums;
    private final FloatChunk left;
    private final FloatChunk right;
    private final UlpCounts ulps = new UlpCounts();
    private final int[] different = new int[ROW];
    private final int[] flags = new int[ROW];
    private final double[] figures = new double[ROW];
    private final long[] signs = new long[ROW];
    private final long[] beyond = new long[ROW];
    private final int[][] steps = new int[CHUNK / ROW][];
    private final DoubleBuffer doubles;
    private final LongBuffer longs;
    private int chunks;
    private long gathered;

    private FloatPairs(
            FloatLoader leftLoader, FloatLoader rightLoader, boolean sameType, Tolerance tolerance, LaneSums sums) {
        this.leftLoader = leftLoader;
        this.rightLoader = rightLoader;
        this.layout = leftLoader.layout();
        this.sameType = sameType;
        this.tolerance = tolerance;
        this.sums = sums;
        this.left = new FloatChunk(layout);
        this.right = new FloatChunk(layout);
        ByteBuffer shared = ByteBuffer.allocate(ROW * Double.BYTES).order(ByteOrder.nativeOrder());
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
        Optional<FloatLayout> stored = sameType ? FloatLayout.of(left.dtype()) : Optional.empty();
        if (stored.isPresent()) {
            StoredFloats loader = new StoredFloats(stored.get(), left.dtype().byteSize());
            return Optional.of(new FloatPairs(loader, loader, true, tolerance, sums));
        }
        return Optional.of(new FloatPairs(
                new DecodedFloats(left, scale, sameType),
                new DecodedFloats(right, scale, sameType),
                sameType,
                tolerance,
                sums));
    }

    /**
     * Adds the sums of {@code count} values that are the same on both sides.
     *
     * @return false if nothing was done, because this is for the general path
     */
    boolean addSame(ByteBuffer block, int first, int count) {
        leftLoader.load(block, first, count, left);
        if (!areFinite(left, left)) {
            return false;
        }
        for (int row = 0; row < left.valueRows(); row++) {
            sums.addSame(left.values[row]);
        }
        return true;
    }

    /**
     * Compares {@code count} values from element {@code first} of two blocks on.
     *
     * @return false if nothing was done, because this is for the general path
     */
    boolean compare(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int count, long index, TensorComparison result) {
        leftLoader.load(leftBlock, first, count, left);
        rightLoader.load(rightBlock, first, count, right);
        if (!areFinite(left, right)) {
            return false;
        }
        countDifferent();
        for (int row = 0; row < left.valueRows(); row++) {
            sums.add(left.values[row], right.values[row]);
        }
        measure();
        if (exceed(result.maxUlp)) {
            result.maxUlp = largest();
        }
        if (!tolerance.isExact()) {
            result.beyond += tolerance.ulps() == 0 ? beyond() : beyondEach(count);
        }
        if (mayHoldExtremes(result)) {
            extremes(count, index, result);
        }
        return true;
    }

    private boolean areFinite(FloatChunk a, FloatChunk b) {
        Arrays.fill(flags, 0);
        for (int row = 0; row < a.wordRows(); row++) {
            exponents(a.words[row], b.words[row], layout.exponents, layout.exponentUnits, flags);
        }
        return (any(flags) & layout.signs) == 0;
    }

    /** Sets a sign wherever an exponent is all ones. */
    private static void exponents(int[] a, int[] b, int exponents, int units, int[] flags) {
        for (int i = 0; i < ROW; i++) {
            flags[i] |= ((a[i] & exponents) + units) | ((b[i] & exponents) + units);
        }
    }

    private static int any(int[] flags) {
        int any = 0;
        for (int i = 0; i < ROW; i++) {
            any |= flags[i];
        }
        return any;
    }

    private void countDifferent() {
        if (++chunks == MOST_CHUNKS) {
            gatherDifferent();
        }
        for (int row = 0; row < left.wordRows(); row++) {
            different(left.words[row], right.words[row], layout.signs, layout.bits - 1, different);
        }
    }

    /** Adds one to a part of a counter where the values of that part differ. */
    private static void different(int[] a, int[] b, int signs, int shift, int[] counts) {
        for (int i = 0; i < ROW; i++) {
            int bits = a[i] ^ b[i];
            // The sum carries into the sign if a bit below it is set.
            counts[i] += ((((bits & ~signs) + ~signs) | bits) & signs) >>> shift;
        }
    }

    /** Distances in units in the last place, unsigned. */
    private void measure() {
        for (int row = 0; row < left.wordRows(); row++) {
            if (layout.bits == 32) {
                steps[row] = ulps.nextRow();
                distances(left.numbers[row], right.numbers[row], steps[row]);
            } else {
                steps[2 * row] = ulps.nextRow();
                lowerDistances(left.words[row], right.words[row], steps[2 * row]);
                steps[2 * row + 1] = ulps.nextRow();
                upperDistances(left.words[row], right.words[row], steps[2 * row + 1]);
            }
        }
    }

    private static void distances(int[] a, int[] b, int[] out) {
        for (int i = 0; i < ROW; i++) {
            int difference = a[i] - b[i];
            // All ones if a is the smaller number, also where the difference needs 33 bits.
            int sign = (difference ^ ((a[i] ^ b[i]) & (a[i] ^ difference))) >> 31;
            out[i] = (difference ^ sign) - sign;
        }
    }

    private static void lowerDistances(int[] a, int[] b, int[] out) {
        for (int i = 0; i < ROW; i++) {
            out[i] = distance(a[i] << 16, b[i] << 16);
        }
    }

    private static void upperDistances(int[] a, int[] b, int[] out) {
        for (int i = 0; i < ROW; i++) {
            out[i] = distance(a[i], b[i]);
        }
    }

    /** The distance of the values in the upper halves of two words. */
    private static int distance(int a, int b) {
        int aSign = a >> 31;
        int bSign = b >> 31;
        int difference = (((a >> 16 & 0x7fff) ^ aSign) - aSign) - (((b >> 16 & 0x7fff) ^ bSign) - bSign);
        int sign = difference >> 31;
        return (difference ^ sign) - sign;
    }

    /** Whether a distance is above {@code limit}. */
    private boolean exceed(long limit) {
        Arrays.fill(flags, 0);
        for (int row = 0; row < left.valueRows(); row++) {
            above(steps[row], (int) Math.min(limit, 0xffffffffL), flags);
        }
        return any(flags) < 0;
    }

    /** Sets the sign where an unsigned number is above {@code limit}: it borrows when it is taken from that. */
    private static void above(int[] values, int limit, int[] flags) {
        for (int i = 0; i < ROW; i++) {
            flags[i] |= (~limit & values[i]) | ((~limit | values[i]) & (limit - values[i]));
        }
    }

    private long largest() {
        int largest = 0;
        for (int row = 0; row < left.valueRows(); row++) {
            for (int distance : steps[row]) {
                largest = Integer.compareUnsigned(distance, largest) > 0 ? distance : largest;
            }
        }
        return Integer.toUnsignedLong(largest);
    }

    /** False if no pair can change the maxima or the worst elements of the result. */
    private boolean mayHoldExtremes(TensorComparison result) {
        double absolute = Math.min(result.worst.threshold(), result.maxAbs);
        if (absolute < 0) {
            return true;
        }
        Arrays.fill(figures, 0);
        for (int row = 0; row < left.valueRows(); row++) {
            largestDifferences(left.values[row], right.values[row], figures);
        }
        if (hasAbove(figures, absolute)) {
            return true;
        }
        // No ratio is above 2; once it is reached, which is common, nothing has to look for it.
        if (result.maxRel >= 2) {
            return false;
        }
        Arrays.fill(figures, 0);
        for (int row = 0; row < left.valueRows(); row++) {
            largestExcess(left.values[row], right.values[row], result.maxRel, figures);
        }
        return hasAbove(figures, 0);
    }

    private static boolean hasAbove(double[] figures, double limit) {
        int above = 0;
        for (int i = 0; i < ROW; i++) {
            above |= figures[i] > limit ? 1 : 0;
        }
        return above != 0;
    }

    private static void largestDifferences(double[] a, double[] b, double[] largest) {
        for (int i = 0; i < ROW; i++) {
            largest[i] = Math.max(largest[i], Math.abs(a[i] - b[i]));
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
        Arrays.fill(beyond, 0);
        for (int row = 0; row < left.valueRows(); row++) {
            slack(left.values[row], right.values[row], tolerance.relative(), tolerance.absolute(), figures);
            doubles.put(0, figures);
            longs.get(0, signs);
            countSigns(signs, beyond);
        }
        long total = 0;
        for (int i = 0; i < ROW; i++) {
            total += beyond[i];
        }
        return total;
    }

    /** What the tolerance leaves; negative exactly where {@link Tolerance#allows} says no. */
    private static void slack(double[] a, double[] b, double relative, double absolute, double[] out) {
        for (int i = 0; i < ROW; i++) {
            double allowed = absolute + relative * Math.max(Math.abs(a[i]), Math.abs(b[i]));
            out[i] = allowed - Math.abs(a[i] - b[i]);
        }
    }

    private static void countSigns(long[] bits, long[] counts) {
        for (int i = 0; i < ROW; i++) {
            counts[i] += bits[i] >>> 63;
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

    private long step(int position) {
        int perWord = layout.perWord();
        int word = position / perWord;
        return Integer.toUnsignedLong(steps[word / ROW * perWord + position % perWord][word % ROW]);
    }

    /** Adds what was counted since the last call to a result. */
    void drainTo(TensorComparison result) {
        gatherDifferent();
        result.differing += gathered;
        result.beyond += tolerance.isExact() ? gathered : 0;
        long[] distances = new long[Integer.SIZE + 1];
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
        for (int i = 0; i < different.length; i++) {
            gathered += layout.bits == 32 ? different[i] : (different[i] & 0xffff) + (different[i] >>> 16);
            different[i] = 0;
        }
        chunks = 0;
    }
}
