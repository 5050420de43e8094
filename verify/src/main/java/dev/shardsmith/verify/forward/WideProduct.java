package dev.shardsmith.verify.forward;

import java.util.stream.IntStream;

/**
 * Matrix products in double precision with weights in float.
 *
 * <p>Two rows of the weight meet four tokens at a time: eight sums that do not wait for each other.
 *
 * @param x [rows, in]
 * @param weight [out, in]
 * @param bias [out], or empty
 */
record WideProduct(double[] x, float[] weight, float[] bias, int rows, int in, int out) {
    private static final int TOKENS = 4;
    private static final int BLOCK = 64;

    /** The product, [rows, out]. */
    double[] run() {
        double[] y = new double[Math.multiplyExact(rows, out)];
        IntStream.range(0, (out + BLOCK - 1) / BLOCK)
                .parallel()
                .forEach(block -> columns(block * BLOCK, Math.min(out, (block + 1) * BLOCK), y));
        return y;
    }

    private void columns(int from, int to, double[] y) {
        int o = from;
        for (; o + 2 <= to; o += 2) {
            int r = 0;
            for (; r + TOKENS <= rows; r += TOKENS) {
                fourByTwo(r, o, y);
            }
            for (; r < rows; r++) {
                one(r, o, y);
                one(r, o + 1, y);
            }
        }
        for (; o < to; o++) {
            for (int r = 0; r < rows; r++) {
                one(r, o, y);
            }
        }
    }

    private void fourByTwo(int r, int o, double[] y) {
        int first = o * in;
        int second = first + in;
        int x0 = r * in;
        int x1 = x0 + in;
        int x2 = x1 + in;
        int x3 = x2 + in;
        double s00 = start(o);
        double s10 = s00;
        double s20 = s00;
        double s30 = s00;
        double s01 = start(o + 1);
        double s11 = s01;
        double s21 = s01;
        double s31 = s01;
        for (int i = 0; i < in; i++) {
            double w0 = weight[first + i];
            double w1 = weight[second + i];
            double v0 = x[x0 + i];
            double v1 = x[x1 + i];
            double v2 = x[x2 + i];
            double v3 = x[x3 + i];
            s00 = Math.fma(w0, v0, s00);
            s10 = Math.fma(w0, v1, s10);
            s20 = Math.fma(w0, v2, s20);
            s30 = Math.fma(w0, v3, s30);
            s01 = Math.fma(w1, v0, s01);
            s11 = Math.fma(w1, v1, s11);
            s21 = Math.fma(w1, v2, s21);
            s31 = Math.fma(w1, v3, s31);
        }
        y[r * out + o] = s00;
        y[(r + 1) * out + o] = s10;
        y[(r + 2) * out + o] = s20;
        y[(r + 3) * out + o] = s30;
        y[r * out + o + 1] = s01;
        y[(r + 1) * out + o + 1] = s11;
        y[(r + 2) * out + o + 1] = s21;
        y[(r + 3) * out + o + 1] = s31;
    }

    private void one(int r, int o, double[] y) {
        double sum = start(o);
        for (int i = 0; i < in; i++) {
            sum = Math.fma((double) weight[o * in + i], x[r * in + i], sum);
        }
        y[r * out + o] = sum;
    }

    private double start(int o) {
        return bias.length == 0 ? 0 : bias[o];
    }
}
