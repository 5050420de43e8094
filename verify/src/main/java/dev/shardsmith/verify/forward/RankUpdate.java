package dev.shardsmith.verify.forward;

/**
 * {@code y += Σ_k a[k] · b[k]}: the loops that every matrix product here is made of.
 *
 * <p>The rows of {@code b} are arrays of their own and not slices of one: HotSpot's vectoriser then proves that they do
 * not overlap {@code y}. Three rows of {@code y} and three of {@code b} at a time, or one and six, are what its limits
 * allow; of these, three and three need the fewest loads and stores for a multiplication.
 */
final class RankUpdate {
    private static final int ROWS = 6;
    /** Rows whose squares are added together. */
    private static final int SQUARES = 4;
    /** Rows of {@code y} that are taken together. */
    static final int BLOCK = 3;
    /** Floats of a cache line. */
    private static final int LINE = 16;
    /** Floats that would fit the header of an array. */
    private static final int HEADER = 4;

    private RankUpdate() {}

    /**
     * Rows for sums or factors. Made one after the other they lie alike in their cache lines, because a row with its header fills whole
     * lines; accesses to several of them then cross lines together or, after the first few, not at all.
     */
    static float[][] rows(int count, int width) {
        int padded = (width + HEADER + LINE - 1) / LINE * LINE - HEADER;
        return new float[count][padded];
    }

    /**
     * A matrix of factors.
     *
     * @param a its elements: {@code a[base + row · rowStride + k · innerStride]}
     */
    record Factors(float[] a, int base, int rowStride, int innerStride) {
        float at(int row, int k) {
            return a[base + row * rowStride + k * innerStride];
        }
    }

    /**
     * Adds to rows [firstRow, firstRow + count) of {@code y} rows [first, first + inner) of {@code b}, scaled by the factors, in
     * elements [from, to).
     */
    static void addAll(
            float[][] y, int firstRow, int count, float[][] b, int first, int inner, Factors a, int from, int to) {
        int row = 0;
        for (; row + BLOCK <= count; row += BLOCK) {
            three(y, firstRow + row, b, first, inner, a, row, from, to);
        }
        for (; row < count; row++) {
            one(y[firstRow + row], b, first, 0, inner, a, row, from, to);
        }
    }

    private static void three(
            float[][] y, int firstRow, float[][] b, int first, int inner, Factors a, int row, int from, int to) {
        int k = 0;
        for (; k + BLOCK <= inner; k += BLOCK) {
            threeByThree(
                    y[firstRow],
                    y[firstRow + 1],
                    y[firstRow + 2],
                    b[first + k],
                    b[first + k + 1],
                    b[first + k + 2],
                    a.at(row, k),
                    a.at(row, k + 1),
                    a.at(row, k + 2),
                    a.at(row + 1, k),
                    a.at(row + 1, k + 1),
                    a.at(row + 1, k + 2),
                    a.at(row + 2, k),
                    a.at(row + 2, k + 1),
                    a.at(row + 2, k + 2),
                    from,
                    to);
        }
        for (int i = 0; i < BLOCK; i++) {
            one(y[firstRow + i], b, first, k, inner, a, row + i, from, to);
        }
    }

    /** Factors [k, inner) of one row. */
    private static void one(float[] y, float[][] b, int first, int k, int inner, Factors a, int row, int from, int to) {
        int at = k;
        for (; at + ROWS <= inner; at += ROWS) {
            int r = first + at;
            six(
                    y,
                    b[r],
                    b[r + 1],
                    b[r + 2],
                    b[r + 3],
                    b[r + 4],
                    b[r + 5],
                    a.at(row, at),
                    a.at(row, at + 1),
                    a.at(row, at + 2),
                    a.at(row, at + 3),
                    a.at(row, at + 4),
                    a.at(row, at + 5),
                    from,
                    to);
        }
        for (; at < inner; at++) {
            one(y, b[first + at], a.at(row, at), from, to);
        }
    }

    /** Loads come before sums and stores after them: in another order the vectoriser gives up. */
    private static void threeByThree(
            float[] y0,
            float[] y1,
            float[] y2,
            float[] b0,
            float[] b1,
            float[] b2,
            float a00,
            float a01,
            float a02,
            float a10,
            float a11,
            float a12,
            float a20,
            float a21,
            float a22,
            int from,
            int to) {
        for (int j = from; j < to; j++) {
            float v0 = b0[j];
            float v1 = b1[j];
            float v2 = b2[j];
            float s0 = y0[j];
            float s1 = y1[j];
            float s2 = y2[j];
            s0 = Math.fma(a00, v0, s0);
            s1 = Math.fma(a10, v0, s1);
            s2 = Math.fma(a20, v0, s2);
            s0 = Math.fma(a01, v1, s0);
            s1 = Math.fma(a11, v1, s1);
            s2 = Math.fma(a21, v1, s2);
            s0 = Math.fma(a02, v2, s0);
            s1 = Math.fma(a12, v2, s1);
            s2 = Math.fma(a22, v2, s2);
            y0[j] = s0;
            y1[j] = s1;
            y2[j] = s2;
        }
    }

    /**
     * Adds rows [first, first + count) of {@code b}, scaled by {@code a[aBase + k]}, to elements [from, to) of {@code y}.
     */
    static void add(float[] y, float[][] b, int first, int count, float[] a, int aBase, int from, int to) {
        one(y, b, first, 0, count, new Factors(a, aBase, 0, 1), 0, from, to);
    }

    private static void six(
            float[] y,
            float[] b0,
            float[] b1,
            float[] b2,
            float[] b3,
            float[] b4,
            float[] b5,
            float a0,
            float a1,
            float a2,
            float a3,
            float a4,
            float a5,
            int from,
            int to) {
        for (int j = from; j < to; j++) {
            y[j] = Math.fma(
                    a5,
                    b5[j],
                    Math.fma(
                            a4,
                            b4[j],
                            Math.fma(a3, b3[j], Math.fma(a2, b2[j], Math.fma(a1, b1[j], Math.fma(a0, b0[j], y[j]))))));
        }
    }

    private static void one(float[] y, float[] b, float a, int from, int to) {
        for (int j = from; j < to; j++) {
            y[j] = Math.fma(a, b[j], y[j]);
        }
    }

    /** Adds the squares of the first {@code inner} rows of {@code b}, in double precision, to elements [0, width) of {@code y}. */
    static void addSquares(double[] y, float[][] b, int inner, int width) {
        int k = 0;
        for (; k + SQUARES <= inner; k += SQUARES) {
            fourSquares(y, b[k], b[k + 1], b[k + 2], b[k + 3], width);
        }
        for (; k < inner; k++) {
            float[] row = b[k];
            for (int j = 0; j < width; j++) {
                y[j] += (double) row[j] * row[j];
            }
        }
    }

    /** What is summed first does not wait for the sums of the rows before. */
    private static void fourSquares(double[] y, float[] b0, float[] b1, float[] b2, float[] b3, int width) {
        for (int j = 0; j < width; j++) {
            double v0 = b0[j];
            double v1 = b1[j];
            double v2 = b2[j];
            double v3 = b3[j];
            y[j] += v0 * v0 + v1 * v1 + (v2 * v2 + v3 * v3);
        }
    }
}
