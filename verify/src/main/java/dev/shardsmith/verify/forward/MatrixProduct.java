package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * {@code y = x · weightᵀ + bias} in float, in blocks.
 *
 * <p>A task owns {@value #OUTPUTS} outputs: it turns their weights over once (input-major, so that outputs are adjacent),
 * then goes through blocks of {@value #TOKENS} rows whose results stay in the second-level cache while six inputs at a
 * time, which stay in the first level, are added to all of them.
 */
final class MatrixProduct {
    private static final int OUTPUTS = 512;
    private static final int TOKENS = 128;
    private static final int INPUTS = 6;

    private MatrixProduct() {}

    /**
     * @param x [rows, in]
     * @param weight [out, in]
     * @return [rows, out]
     */
    static float[] of(float[] x, float[] weight, Optional<float[]> bias, int rows, int in, int out) {
        float[] y = new float[Math.multiplyExact(rows, out)];
        int block = blockOf(out);
        IntStream.range(0, (out + block - 1) / block).parallel().forEach(index -> {
            int first = index * block;
            outputs(x, weight, bias, y, rows, in, out, first, Math.min(block, out - first));
        });
        return y;
    }

    /** Narrower blocks where few outputs would otherwise leave processors idle. */
    private static int blockOf(int out) {
        int processors = Runtime.getRuntime().availableProcessors();
        int fair = (out + processors - 1) / processors;
        return Math.max(1, Math.min(OUTPUTS, Math.max(fair, 64)));
    }

    private static void outputs(
            float[] x,
            float[] weight,
            Optional<float[]> bias,
            float[] y,
            int rows,
            int in,
            int out,
            int first,
            int count) {
        float[][] turned = turned(weight, in, first, count);
        float[][] sums = new float[Math.min(TOKENS, rows)][count];
        for (int from = 0; from < rows; from += TOKENS) {
            int block = Math.min(TOKENS, rows - from);
            for (int row = 0; row < block; row++) {
                if (bias.isPresent()) {
                    System.arraycopy(bias.get(), first, sums[row], 0, count);
                } else {
                    Arrays.fill(sums[row], 0);
                }
            }
            for (int k = 0; k < in; k += INPUTS) {
                int inputs = Math.min(INPUTS, in - k);
                for (int row = 0; row < block; row++) {
                    RankUpdate.add(sums[row], turned, k, inputs, x, (from + row) * in + k, 0, count);
                }
            }
            for (int row = 0; row < block; row++) {
                System.arraycopy(sums[row], 0, y, (from + row) * out + first, count);
            }
        }
    }

    /** The weights of some outputs, [in][count]. */
    private static float[][] turned(float[] weight, int in, int first, int count) {
        float[][] turned = new float[in][count];
        int tile = 16;
        for (int k = 0; k < in; k += tile) {
            int last = Math.min(in, k + tile);
            for (int o = 0; o < count; o++) {
                int base = (first + o) * in;
                for (int i = k; i < last; i++) {
                    turned[i][o] = weight[base + i];
                }
            }
        }
        return turned;
    }
}
