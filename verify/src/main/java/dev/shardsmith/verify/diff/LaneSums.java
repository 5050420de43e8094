package dev.shardsmith.verify.diff;

/**
 * Sums of products of two sides, for norms, the cosine and the root mean square of the difference.
 *
 * <p>Each place of a row has a partial sum of its own, so that the loops have no chain of additions and become vector
 * instructions. The order of the additions is fixed: the result depends neither on the machine nor on the threads.
 *
 * <p>All values have to be finite.
 */
final class LaneSums {
    private static final int ROW = FloatChunk.ROW;

    private final double[] products = new double[ROW];
    private final double[] leftSquares = new double[ROW];
    private final double[] rightSquares = new double[ROW];
    private final double[] squaredDifferences = new double[ROW];
    private final double[] bothSquares = new double[ROW];

    /** Adds a row of pairs. */
    void add(double[] left, double[] right) {
        products(left, right, products);
        products(left, left, leftSquares);
        products(right, right, rightSquares);
        differences(left, right, squaredDifferences);
    }

    /** Adds a row of values that are the same on both sides. */
    void addSame(double[] values) {
        products(values, values, bothSquares);
    }

    private static void products(double[] left, double[] right, double[] sums) {
        for (int i = 0; i < ROW; i++) {
            sums[i] += left[i] * right[i];
        }
    }

    private static void differences(double[] left, double[] right, double[] sums) {
        for (int i = 0; i < ROW; i++) {
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
    }

    private static double drain(double[] sums) {
        double total = 0;
        for (int i = 0; i < ROW; i++) {
            total += sums[i];
            sums[i] = 0;
        }
        return total;
    }
}
