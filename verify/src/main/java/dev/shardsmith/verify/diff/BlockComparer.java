package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.ElementDecoder.Domain;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * Compares blocks of elements of two types, bits first and then values.
 *
 * <p>Elements of one type are the same if their bits are; zeros of different sign and NaNs of different payload are not.
 * Elements of different types are the same if their values are, NaN being the same as NaN.
 *
 * <p>Not safe for use by several threads: it holds scratch space.
 */
public final class BlockComparer {
    private final ElementDecoder left;
    private final ElementDecoder right;
    private final UlpScale scale;
    private final Tolerance tolerance;
    private final boolean sameType;
    private final Optional<FloatPairs> fast;
    private final double[] leftDoubles = new double[ElementDecoder.CHUNK];
    private final double[] rightDoubles = new double[ElementDecoder.CHUNK];
    private final long[] leftNumbers = new long[ElementDecoder.CHUNK];
    private final long[] rightNumbers = new long[ElementDecoder.CHUNK];
    /** Two histograms side by side, so that neighbours rarely wait for each other's count. */
    private final int[] ulps = new int[256];

    private BlockComparer(ElementDecoder left, ElementDecoder right, Tolerance tolerance) {
        this.left = left;
        this.right = right;
        this.tolerance = tolerance;
        this.scale = UlpScale.ofCoarser(left.dtype(), right.dtype());
        this.sameType = left.dtype() == right.dtype();
        this.fast = sameType && FloatPairs.handles(left.dtype())
                ? Optional.of(new FloatPairs(left.dtype(), tolerance))
                : Optional.empty();
    }

    /**
     * A comparer for two types; empty if one has no numeric meaning, or if only one of them is complex. Then the bits alone
     * can be compared.
     */
    public static Optional<BlockComparer> of(DType left, DType right, Tolerance tolerance) {
        Optional<ElementDecoder> leftDecoder = ElementDecoder.of(left);
        Optional<ElementDecoder> rightDecoder = ElementDecoder.of(right);
        if (leftDecoder.isEmpty()
                || rightDecoder.isEmpty()
                || leftDecoder.get().perElement() != rightDecoder.get().perElement()) {
            return Optional.empty();
        }
        return Optional.of(new BlockComparer(leftDecoder.get(), rightDecoder.get(), tolerance));
    }

    /** The type in whose units in the last place differences are counted: the one with fewer mantissa bits. */
    public DType ulpType() {
        return scale.dtype();
    }

    /** Values that one element holds. */
    public int valuesPerElement() {
        return left.perElement();
    }

    /**
     * Compares the {@code elements} elements at the start of two blocks and adds what is found to {@code result}.
     *
     * @param firstElement the logical index of the blocks' first element
     */
    public void compare(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int elements, long firstElement, TensorComparison result) {
        int step = ElementDecoder.CHUNK / left.perElement();
        for (int first = 0; first < elements; first += step) {
            int chunk = Math.min(step, elements - first);
            long index = (firstElement + first) * left.perElement();
            int count = chunk * left.perElement();
            result.values += count;
            if (sameType && sameBits(leftBlock, rightBlock, first, chunk)) {
                result.addSquares(squares(leftBlock, first, count));
            } else if (left.domain() == Domain.LONG || right.domain() == Domain.LONG) {
                compareIntegers(leftBlock, rightBlock, first, count, index, result);
            } else {
                compareValues(leftBlock, rightBlock, first, count, index, result);
            }
        }
    }

    private boolean sameBits(ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int elements) {
        int size = left.dtype().byteSize();
        return window(leftBlock, first * size, elements * size)
                        .mismatch(window(rightBlock, first * size, elements * size))
                < 0;
    }

    private static ByteBuffer window(ByteBuffer block, int offset, int length) {
        ByteBuffer view = block.duplicate();
        view.clear().position(offset).limit(offset + length);
        return view;
    }

    private double squares(ByteBuffer block, int first, int count) {
        left.doubles(block, first, count, leftDoubles);
        return Sums.squares(leftDoubles, count);
    }

    private void compareValues(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int count, long index, TensorComparison result) {
        int offset = first * left.dtype().byteSize();
        if (fast.isPresent() && fast.get().compare(leftBlock, rightBlock, offset, count, index, result)) {
            return;
        }
        left.doubles(leftBlock, first, count, leftDoubles);
        right.doubles(rightBlock, first, count, rightDoubles);
        boolean finite = Sums.add(leftDoubles, rightDoubles, count, result);
        scale.number(leftDoubles, count, leftNumbers);
        scale.number(rightDoubles, count, rightNumbers);
        if (finite) {
            finiteValues(count, index, result);
            return;
        }
        for (int i = 0; i < count; i++) {
            double a = leftDoubles[i];
            double b = rightDoubles[i];
            if (!same(a, b)) {
                result.addDifferent(index + i, a, b, distance(leftNumbers[i], rightNumbers[i]), tolerance);
            }
        }
    }

    private boolean same(double a, double b) {
        return sameType
                ? Double.doubleToRawLongBits(a) == Double.doubleToRawLongBits(b)
                : a == b || (Double.isNaN(a) && Double.isNaN(b));
    }

    /** The usual case, in one loop over local variables; what is rare leaves the loop's straight path. */
    private void finiteValues(int count, long index, TensorComparison result) {
        double maxAbs = result.maxAbs;
        double maxRel = result.maxRel;
        double threshold = result.worst.threshold();
        long maxUlp = result.maxUlp;
        int different = 0;
        Arrays.fill(ulps, 0);
        for (int i = 0; i < count; i++) {
            double a = leftDoubles[i];
            double b = rightDoubles[i];
            double difference = Math.abs(a - b);
            long steps = distance(leftNumbers[i], rightNumbers[i]);
            ulps[(i & 1) << 7 | 64 - Long.numberOfLeadingZeros(steps)]++;
            if (steps > maxUlp) {
                maxUlp = steps;
            }
            if (difference > maxAbs) {
                maxAbs = difference;
            }
            // Both comparisons together are the one with the larger magnitude; the first one mostly settles it.
            if (difference > maxRel * Math.abs(a) && difference > maxRel * Math.abs(b)) {
                maxRel = difference / Math.max(Math.abs(a), Math.abs(b));
            }
            different += same(a, b) ? 0 : 1;
            if (difference > threshold && !same(a, b)) {
                result.worst.add(new WorstElement(index + i, a, b, difference));
                threshold = result.worst.threshold();
            }
        }
        result.maxAbs = maxAbs;
        result.maxRel = maxRel;
        result.maxUlp = maxUlp;
        result.differing += different;
        result.beyond += tolerance.isExact() ? different : beyond(count);
        for (int bucket = 0; bucket <= 64; bucket++) {
            result.ulps[bucket] += ulps[bucket] + ulps[128 | bucket];
        }
        result.ulps[0] -= count - different;
    }

    private int beyond(int count) {
        int beyond = 0;
        for (int i = 0; i < count; i++) {
            double a = leftDoubles[i];
            double b = rightDoubles[i];
            double larger = Math.max(Math.abs(a), Math.abs(b));
            boolean allowed =
                    same(a, b) || tolerance.allows(Math.abs(a - b), larger, distance(leftNumbers[i], rightNumbers[i]));
            beyond += allowed ? 0 : 1;
        }
        return beyond;
    }

    /** At least one side holds 64-bit integers, which doubles cannot hold exactly. */
    private void compareIntegers(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int count, long index, TensorComparison result) {
        left.doubles(leftBlock, first, count, leftDoubles);
        right.doubles(rightBlock, first, count, rightDoubles);
        Sums.add(leftDoubles, rightDoubles, count, result);
        integers(left, leftBlock, first, count, leftDoubles, leftNumbers);
        integers(right, rightBlock, first, count, rightDoubles, rightNumbers);
        for (int i = 0; i < count; i++) {
            double a = leftDoubles[i];
            double b = rightDoubles[i];
            if (leftNumbers[i] != rightNumbers[i] || (!sameType && a != b)) {
                result.addDifferent(index + i, a, b, distance(leftNumbers[i], rightNumbers[i]), tolerance);
            }
        }
    }

    private static void integers(
            ElementDecoder decoder, ByteBuffer block, int first, int count, double[] values, long[] out) {
        if (decoder.domain() == Domain.LONG) {
            decoder.longs(block, first, count, out);
            return;
        }
        for (int i = 0; i < count; i++) {
            out[i] = (long) values[i];
        }
    }

    /** The distance of two numbers, or the largest one that fits. */
    private static long distance(long a, long b) {
        long difference = a - b;
        boolean overflow = ((a ^ b) & (a ^ difference)) < 0;
        return overflow || difference == Long.MIN_VALUE ? Long.MAX_VALUE : Math.abs(difference);
    }
}
