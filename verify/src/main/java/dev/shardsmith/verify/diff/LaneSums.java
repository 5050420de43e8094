package dev.shardsmith.verify.diff;

/**
 * Sums of products of two sides, for norms, the cosine and the root mean square of the difference.
 *
 * <p>Each place of a row has a partial sum of its own, so that the loops have no chain of additions and become vector
 * instructions. The order of the additions is fixed: the result depends neither on the machine nor on the threads.
 *
 * <p>All values have to be finite. A chunk is four rows of them, which are added in one go, so that the partial sums are loaded
 * and stored once. Each loop has one sum: the compiler makes no vectors of longer ones.
 */
final class LaneSums {
    private static final int ROW = FloatChunk.ROW;

    private final double[] products = new double[ROW];
    private final double[] leftSquares = new double[ROW];
    private final double[] rightSquares = new double[ROW];
    private final double[] squaredDifferences = new double[ROW];
    private final double[] bothSquares = new double[ROW];

    /**
     * Adds a chunk of pairs.
     *
     * @param squares set to the squared differences of each place, added up over the rows
     */
    void add(double[][] left, double[][] right, double[] squares) {
        products(left[0], left[1], left[2], left[3], right[0], right[1], right[2], right[3], products);
        squares(left[0], left[1], left[2], left[3], leftSquares);
        squares(right[0], right[1], right[2], right[3], rightSquares);
        differences(left[0], left[1], left[2], left[3], right[0], right[1], right[2], right[3], squares);
        add(squares, squaredDifferences);
    }

    /** Adds a chunk of values that are the same on both sides. */
    void addSame(double[][] values) {
        squares(values[0], values[1], values[2], values[3], bothSquares);
    }

    private static void products(
            double[] a0,
            double[] a1,
            double[] a2,
            double[] a3,
            double[] b0,
            double[] b1,
            double[] b2,
            double[] b3,
            double[] sums) {
        for (int i = 0; i < ROW; i++) {
            sums[i] = sums[i] + a0[i] * b0[i] + a1[i] * b1[i] + a2[i] * b2[i] + a3[i] * b3[i];
        }
    }

    private static void squares(double[] a0, double[] a1, double[] a2, double[] a3, double[] sums) {
        for (int i = 0; i < ROW; i++) {
            sums[i] = sums[i] + a0[i] * a0[i] + a1[i] * a1[i] + a2[i] * a2[i] + a3[i] * a3[i];
        }
    }

    private static void differences(
            double[] a0,
            double[] a1,
            double[] a2,
            double[] a3,
            double[] b0,
            double[] b1,
            double[] b2,
            double[] b3,
            double[] out) {
        for (int i = 0; i < ROW; i++) {
            double d0 = a0[i] - b0[i];
            double d1 = a1[i] - b1[i];
            double d2 = a2[i] - b2[i];
            double d3 = a3[i] - b3[i];
            out[i] = d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3;
        }
    }

    private static void add(double[] values, double[] sums) {
        for (int i = 0; i < ROW; i++) {
            sums[i] += values[i];
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
