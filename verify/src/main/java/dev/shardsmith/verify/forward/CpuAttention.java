package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.stream.IntStream;

/** Attention on the processor: one head of one row at a time, with its keys turned over. */
final class CpuAttention {
    private CpuAttention() {}

    static float[] run(float[] q, float[] k, float[] v, AttentionShape shape, double scale, boolean causal) {
        float[] out = new float[q.length];
        IntStream.range(0, shape.batch() * shape.heads())
                .parallel()
                .forEach(i -> head(q, k, v, shape, scale, causal, i / shape.heads(), i % shape.heads(), out));
        return out;
    }

    private static void head(
            float[] q,
            float[] k,
            float[] v,
            AttentionShape shape,
            double scale,
            boolean causal,
            int row,
            int head,
            float[] out) {
        int width = shape.headDim();
        int length = shape.length();
        int keyHead = head / (shape.heads() / shape.keyHeads());
        float[][] keys = new float[width][length];
        float[][] values = new float[length][width];
        for (int j = 0; j < length; j++) {
            int base = ((row * length + j) * shape.keyHeads() + keyHead) * width;
            System.arraycopy(v, base, values[j], 0, width);
            for (int c = 0; c < width; c++) {
                keys[c][j] = k[base + c];
            }
        }
        float[] scores = new float[length];
        float[] sum = new float[width];
        for (int i = 0; i < length; i++) {
            int seen = causal ? i + 1 : length;
            int base = ((row * length + i) * shape.heads() + head) * width;
            Arrays.fill(scores, 0, seen, 0);
            RankUpdate.add(scores, keys, 0, width, q, base, 0, seen);
            softmax(scores, seen, scale);
            Arrays.fill(sum, 0);
            RankUpdate.add(sum, values, 0, seen, scores, 0, 0, width);
            System.arraycopy(sum, 0, out, base, width);
        }
    }

    private static void softmax(float[] scores, int count, double scale) {
        double max = Double.NEGATIVE_INFINITY;
        for (int j = 0; j < count; j++) {
            max = Math.max(max, scale * scores[j]);
        }
        double total = 0;
        double[] weights = new double[count];
        for (int j = 0; j < count; j++) {
            weights[j] = Math.exp(scale * scores[j] - max);
            total += weights[j];
        }
        for (int j = 0; j < count; j++) {
            scores[j] = (float) (weights[j] / total);
        }
    }

    static float[] rotate(float[] x, Rotary rotary, int batch, int length, int heads, int headDim) {
        float[] y = x.clone();
        int pairs = rotary.rotated() / 2;
        for (int token = 0; token < batch * length; token++) {
            for (int pair = 0; pair < pairs; pair++) {
                double angle = rotary.angle(token % length, pair);
                double cos = Math.cos(angle);
                double sin = Math.sin(angle);
                int first = rotary.first(pair);
                int second = rotary.second(pair);
                for (int head = 0; head < heads; head++) {
                    int base = (token * heads + head) * headDim;
                    double a = x[base + first];
                    double b = x[base + second];
                    y[base + first] = (float) (a * cos - b * sin);
                    y[base + second] = (float) (a * sin + b * cos);
                }
            }
        }
        return y;
    }
}
