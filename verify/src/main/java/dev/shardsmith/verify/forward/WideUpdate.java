package dev.shardsmith.verify.forward;

/**
 * What {@link RankUpdate} is, in double precision: {@code y += Σ_k a[k] · b[k]}.
 *
 * <p>Four rows of {@code y} and two of {@code b} at a time, or one and four, are what HotSpot's vectoriser takes; four divides
 * the tokens of a close look. Each element of {@code y} is a chain of fused multiply-adds in the order of {@code k}, whichever
 * way it is computed.
 */
final class WideUpdate {
    private static final int ROWS = 4;
    private static final int FACTORS = 2;
    /** Doubles of a cache line. */
    private static final int LINE = 8;
    /** Doubles that would fit the header of an array. */
    private static final int HEADER = 2;

    private WideUpdate() {}

    /** Rows that lie alike in their cache lines, see {@link RankUpdate#rows}. */
    static double[][] rows(int count, int width) {
        int padded = (width + HEADER + LINE - 1) / LINE * LINE - HEADER;
        return new double[count][padded];
    }

    /**
     * Adds to rows of {@code y} the first {@code inner} rows of {@code b}, scaled by {@code a[base + row · stride + k]}, in
     * elements [0, width).
     */
    static void addAll(double[][] y, int rows, double[][] b, int inner, double[] a, int base, int stride, int width) {
        int row = 0;
        for (; row + ROWS <= rows; row += ROWS) {
            int at = base + row * stride;
            int k = 0;
            for (; k + FACTORS <= inner; k += FACTORS) {
                fourByTwo(y[row], y[row + 1], y[row + 2], y[row + 3], b[k], b[k + 1], a, at + k, stride, width);
            }
            for (int i = 0; i < ROWS; i++) {
                one(y[row + i], b, k, inner, a, at + i * stride, width);
            }
        }
        for (; row < rows; row++) {
            one(y[row], b, 0, inner, a, base + row * stride, width);
        }
    }

    /** Adds the squares of the first {@code inner} rows of {@code b} to elements [0, width) of {@code y}. */
    static void addSquares(double[] y, double[][] b, int inner, int width) {
        int k = 0;
        for (; k + ROWS <= inner; k += ROWS) {
            fourSquares(y, b[k], b[k + 1], b[k + 2], b[k + 3], width);
        }
        for (; k < inner; k++) {
            double[] row = b[k];
            for (int j = 0; j < width; j++) {
                y[j] = Math.fma(row[j], row[j], y[j]);
            }
        }
    }

    /** Loads come before sums and stores after them: in another order the vectoriser gives up. */
    private static void fourByTwo(
            double[] y0,
            double[] y1,
            double[] y2,
            double[] y3,
            double[] b0,
            double[] b1,
            double[] a,
            int at,
            int stride,
            int width) {
        double a00 = a[at];
        double a01 = a[at + 1];
        double a10 = a[at + stride];
        double a11 = a[at + stride + 1];
        double a20 = a[at + 2 * stride];
        double a21 = a[at + 2 * stride + 1];
        double a30 = a[at + 3 * stride];
        double a31 = a[at + 3 * stride + 1];
        for (int j = 0; j < width; j++) {
            double v0 = b0[j];
            double v1 = b1[j];
            double s0 = y0[j];
            double s1 = y1[j];
            double s2 = y2[j];
            double s3 = y3[j];
            s0 = Math.fma(a00, v0, s0);
            s1 = Math.fma(a10, v0, s1);
            s2 = Math.fma(a20, v0, s2);
            s3 = Math.fma(a30, v0, s3);
            s0 = Math.fma(a01, v1, s0);
            s1 = Math.fma(a11, v1, s1);
            s2 = Math.fma(a21, v1, s2);
            s3 = Math.fma(a31, v1, s3);
            y0[j] = s0;
            y1[j] = s1;
            y2[j] = s2;
            y3[j] = s3;
        }
    }

    /** Factors [from, to) of one row. */
    private static void one(double[] y, double[][] b, int from, int to, double[] a, int base, int width) {
        int k = from;
        for (; k + ROWS <= to; k += ROWS) {
            four(y, b[k], b[k + 1], b[k + 2], b[k + 3], a, base + k, width);
        }
        for (; k < to; k++) {
            double[] row = b[k];
            double factor = a[base + k];
            for (int j = 0; j < width; j++) {
                y[j] = Math.fma(factor, row[j], y[j]);
            }
        }
    }

    private static void four(
            double[] y, double[] b0, double[] b1, double[] b2, double[] b3, double[] a, int at, int width) {
        double a0 = a[at];
        double a1 = a[at + 1];
        double a2 = a[at + 2];
        double a3 = a[at + 3];
        for (int j = 0; j < width; j++) {
            y[j] = Math.fma(a3, b3[j], Math.fma(a2, b2[j], Math.fma(a1, b1[j], Math.fma(a0, b0[j], y[j]))));
        }
    }

    private static void fourSquares(double[] y, double[] b0, double[] b1, double[] b2, double[] b3, int width) {
        for (int j = 0; j < width; j++) {
            double v0 = b0[j];
            double v1 = b1[j];
            double v2 = b2[j];
            double v3 = b3[j];
            y[j] = Math.fma(v3, v3, Math.fma(v2, v2, Math.fma(v1, v1, Math.fma(v0, v0, y[j]))));
        }
    }
}
