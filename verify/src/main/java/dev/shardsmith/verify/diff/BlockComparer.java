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
 * <p>Not safe for use by several threads: it holds scratch space, and sums and counts until {@link #drainTo} is called.
 */
public final class BlockComparer {
    private final ElementDecoder left;
    private final ElementDecoder right;
    private final UlpScale scale;
    private final Tolerance tolerance;
    private final boolean sameType;
    private final LaneSums sums = new LaneSums();
    private final Optional<FloatPairs> fast;
    private final double[] leftDoubles = new double[ElementDecoder.CHUNK];
    private final double[] rightDoubles = new double[ElementDecoder.CHUNK];
    private final ExactNumbers leftExact;
    private final ExactNumbers rightExact;
    private final long[] leftNumbers = new long[ElementDecoder.CHUNK];
    private final long[] rightNumbers = new long[ElementDecoder.CHUNK];

    private BlockComparer(ElementDecoder left, ElementDecoder right, Tolerance tolerance) {
        this.left = left;
        this.right = right;
        this.tolerance = tolerance;
        this.scale = UlpScale.ofCoarser(left.dtype(), right.dtype());
        this.sameType = left.dtype() == right.dtype();
        this.leftExact = new ExactNumbers(left, leftDoubles);
        this.rightExact = new ExactNumbers(right, rightDoubles);
        this.fast = FloatPairs.of(left, right, scale, tolerance, sums);
    }

    /**
     * A comparer for two types; empty if one has no numeric meaning, or if only one of them is complex. Then the bits alone
     * can be compared.
     */
    public static Optional<BlockComparer> of(DType left, DType right, Tolerance tolerance) {
        return compares(left, right)
                ? Optional.of(new BlockComparer(
                        ElementDecoder.of(left).orElseThrow(),
                        ElementDecoder.of(right).orElseThrow(),
                        tolerance))
                : Optional.empty();
    }

    /** Whether there is a comparer for two types. */
    static boolean compares(DType left, DType right) {
        Optional<ElementDecoder> leftDecoder = ElementDecoder.of(left);
        Optional<ElementDecoder> rightDecoder = ElementDecoder.of(right);
        return leftDecoder.isPresent()
                && rightDecoder.isPresent()
                && leftDecoder.get().perElement() == rightDecoder.get().perElement();
    }

    DType leftType() {
        return left.dtype();
    }

    DType rightType() {
        return right.dtype();
    }

    /**
     * Compares the {@code elements} elements at the start of two blocks. What is found is in {@code result} once
     * {@link #drainTo} is called for the same one.
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
            if (fast.isPresent() && fast.get().compare(leftBlock, rightBlock, first, count, index, result)) {
                continue;
            }
            if (sameType && sameBits(leftBlock, rightBlock, first, chunk)) {
                addSame(leftBlock, first, count, result);
            } else if (left.domain() == Domain.LONG || right.domain() == Domain.LONG) {
                compareIntegers(leftBlock, rightBlock, first, count, index, result);
            } else {
                compareValues(leftBlock, rightBlock, first, count, index, result);
            }
        }
    }

    /** Adds to a result what was found since the last call; then this comparer serves for other blocks. */
    public void drainTo(TensorComparison result) {
        sums.drainTo(result);
        fast.ifPresent(pairs -> pairs.drainTo(result));
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

    private void addSame(ByteBuffer block, int first, int count, TensorComparison result) {
        left.doubles(block, first, count, leftDoubles);
        result.notFinite += dropInfinite(leftDoubles, leftDoubles, count);
        sums.addSame(rows(leftDoubles, count));
    }

    /** The general path: one value after the other. */
    private void compareValues(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int count, long index, TensorComparison result) {
        left.doubles(leftBlock, first, count, leftDoubles);
        right.doubles(rightBlock, first, count, rightDoubles);
        scale.number(leftDoubles, count, leftNumbers);
        scale.number(rightDoubles, count, rightNumbers);
        int unit = left.dtype().byteSize() / left.perElement();
        for (int i = 0; i < count; i++) {
            double a = leftDoubles[i];
            double b = rightDoubles[i];
            boolean same;
            if (Double.isNaN(a) && Double.isNaN(b)) {
                // The stored bytes, since decoding makes quiet ones of signalling NaNs.
                int at = first * left.dtype().byteSize() + i * unit;
                same = !sameType || window(leftBlock, at, unit).mismatch(window(rightBlock, at, unit)) < 0;
            } else {
                same = sameType ? Double.doubleToRawLongBits(a) == Double.doubleToRawLongBits(b) : a == b;
            }
            if (!same) {
                result.addDifferent(index + i, a, b, distance(leftNumbers[i], rightNumbers[i]), tolerance);
            }
        }
        addPairs(count, result);
    }

    private void addPairs(int count, TensorComparison result) {
        result.notFinite += dropInfinite(leftDoubles, rightDoubles, count);
        sums.add(rows(leftDoubles, count), rows(rightDoubles, count), new double[FloatChunk.ROW]);
    }

    /** The values in rows, with zeros after the last one. */
    private static double[][] rows(double[] values, int count) {
        Arrays.fill(values, count, values.length, 0);
        double[][] rows = new double[values.length / FloatChunk.ROW][];
        for (int row = 0; row < rows.length; row++) {
            rows[row] = Arrays.copyOfRange(values, row * FloatChunk.ROW, (row + 1) * FloatChunk.ROW);
        }
        return rows;
    }

    /** Sets to 0 the pairs of which one value is not finite: they have no part in the sums. Returns how many they are. */
    private static int dropInfinite(double[] left, double[] right, int count) {
        int dropped = 0;
        for (int i = 0; i < count; i++) {
            if (!Double.isFinite(left[i]) || !Double.isFinite(right[i])) {
                left[i] = 0;
                right[i] = 0;
                dropped++;
            }
        }
        return dropped;
    }

    /** At least one side holds 64-bit integers, which doubles cannot hold exactly. */
    private void compareIntegers(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int first, int count, long index, TensorComparison result) {
        leftExact.load(leftBlock, first, count);
        rightExact.load(rightBlock, first, count);
        scale.number(leftDoubles, count, leftNumbers);
        scale.number(rightDoubles, count, rightNumbers);
        boolean integers = scale.countsIntegers();
        for (int i = 0; i < count; i++) {
            double a = leftDoubles[i];
            double b = rightDoubles[i];
            if (!Double.isFinite(a) || !Double.isFinite(b)) {
                result.addDifferent(index + i, a, b, 0, tolerance);
                continue;
            }
            double difference = ExactNumbers.difference(leftExact, rightExact, i);
            if (difference == 0) {
                continue;
            }
            long steps =
                    integers ? ExactNumbers.steps(leftExact, rightExact, i) : distance(leftNumbers[i], rightNumbers[i]);
            result.addFinite(index + i, a, b, difference, steps, tolerance);
            // What the sums below lose by rounding both values first.
            result.squaredDifferences += difference * difference - (a - b) * (a - b);
        }
        addPairs(count, result);
    }

    /** The distance of two numbers, or the largest one that fits. */
    private static long distance(long a, long b) {
        long difference = a - b;
        boolean overflow = ((a ^ b) & (a ^ difference)) < 0;
        return overflow || difference == Long.MIN_VALUE ? Long.MAX_VALUE : Math.abs(difference);
    }
}
