package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.ElementDecoder;

/**
 * Sums of products of two sides, for norms, the cosine and the root mean square of the difference.
 *
 * <p>Each place of a chunk has a partial sum of its own, so that the loops have no chain of additions and become vector
 * instructions. The order of the additions is fixed: the result depends neither on the machine nor on the threads.
 *
 * <p>All values have to be finite.
 */
final class LaneSums {
    private final double[] products = new double[ElementDecoder.CHUNK];
    private final double[] leftSquares = new double[ElementDecoder.CHUNK];
    private final double[] rightSquares = new double[ElementDecoder.CHUNK];
    private final double[] squaredDifferences = new double[ElementDecoder.CHUNK];
    private final double[] bothSquares = new double[ElementDecoder.CHUNK];

    /** Places in use since the sums began: all the others are 0. */
    private int used;

    /** Adds {@code count} pairs. */
    void add(double[] left, double[] right, int count) {
        used = Math.max(used, count);
        products(left, right, count, products);
        products(left, left, count, leftSquares);
        products(right, right, count, rightSquares);
        differences(left, right, count, squaredDifferences);
    }

    /** Adds {@code count} values that are the same on both sides. */
    void addSame(double[] values, int count) {
        used = Math.max(used, count);
        products(values, values, count, bothSquares);
    }

    private static void products(double[] left, double[] right, int count, double[] sums) {
        for (int i = 0; i < count; i++) {
            sums[i] += left[i] * right[i];
        }
    }

    private static void differences(double[] left, double[] right, int count, double[] sums) {
        for (int i = 0; i < count; i++) {
            double difference = left[i] - right[i];
            sums[i] += difference * difference;
        }
    }

    /** Adds all sums to a result and begins anew. */
    void drainTo(TensorComparison result) {
        double same = drain(bothSquares);
        result.dot += drain(products) + same;
        result.leftSquares += drain(leftSquares) + same;
        result.rightSquares += drain(rightSquares) + same;
        result.squaredDifferences += drain(squaredDifferences);
        used = 0;
    }

    private double drain(double[] sums) {
        double total = 0;
        for (int i = 0; i < used; i++) {
            total += sums[i];
            sums[i] = 0;
        }
        return total;
    }
}
