package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.Optional;

/**
 * {@code y = x · weightᵀ + bias} in float, in blocks.
 *
 * <p>A task owns up to {@value #OUTPUTS} outputs. It turns {@value #INPUTS} inputs of their weights over at a time (input-major, so that
 * outputs are adjacent), a panel that stays in the second-level cache while it is added to all tokens, three of them
 * together, whose sums stay in the first level.
 */
final class MatrixProduct {
    private static final int OUTPUTS = 1024;
    private static final int INPUTS = 120;
    private static final int TOKENS = 2048;
    private static final int FEWEST_OUTPUTS = 64;
    private static final int LINE = 16;

    private MatrixProduct() {}

    /**
     * Multiplies.
     *
     * @param x [rows, in]
     * @param weight [out, in]
     * @return [rows, out]
     */
    static float[] of(float[] x, float[] weight, Optional<float[]> bias, int rows, int in, int out) {
        float[] y = new float[Math.multiplyExact(rows, out)];
        OutputBlocks.of(out, OUTPUTS, FEWEST_OUTPUTS, LINE)
                .forEach((first, count) -> new Block(x, weight, rows, in, first, count).multiply(bias, y, out));
        return y;
    }

    /** Some outputs. */
    private record Block(float[] x, float[] weight, int rows, int in, int first, int count) {

        void multiply(Optional<float[]> bias, float[] y, int out) {
            float[][] panel = RankUpdate.rows(Math.min(INPUTS, in), count);
            float[][] sums = RankUpdate.rows(Math.min(TOKENS, rows), count);
            for (int from = 0; from < rows; from += TOKENS) {
                int tokens = Math.min(TOKENS, rows - from);
                for (int row = 0; row < tokens; row++) {
                    if (bias.isPresent()) {
                        System.arraycopy(bias.get(), first, sums[row], 0, count);
                    } else {
                        Arrays.fill(sums[row], 0);
                    }
                }
                for (int k = 0; k < in; k += INPUTS) {
                    int inputs = Math.min(INPUTS, in - k);
                    turn(panel, k, inputs);
                    RankUpdate.Factors factors = new RankUpdate.Factors(x, from * in + k, in, 1);
                    RankUpdate.addAll(sums, 0, tokens, panel, 0, inputs, factors, 0, count);
                }
                for (int row = 0; row < tokens; row++) {
                    System.arraycopy(sums[row], 0, y, (from + row) * out + first, count);
                }
            }
        }

        /** Inputs [from, from + inputs) of the weights, input-major. */
        private void turn(float[][] panel, int from, int inputs) {
            for (int k = 0; k < inputs; k += LINE) {
                int last = Math.min(inputs, k + LINE);
                for (int o = 0; o < count; o++) {
                    int base = (first + o) * in + from;
                    for (int i = k; i < last; i++) {
                        panel[i][o] = weight[base + i];
                    }
                }
            }
        }
    }
}
