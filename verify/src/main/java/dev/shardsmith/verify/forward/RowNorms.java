package dev.shardsmith.verify.forward;

import java.util.Optional;
import java.util.stream.IntStream;

/** Sizes of rows, and normalisation by them; sums in double. */
final class RowNorms {
    private RowNorms() {}

    static float[] maxima(float[] x, int rows, int width) {
        float[] maxima = new float[rows];
        IntStream.range(0, rows).parallel().forEach(row -> {
            float max = 0;
            for (int i = row * width; i < (row + 1) * width; i++) {
                max = Math.max(max, Math.abs(x[i]));
            }
            maxima[row] = max;
        });
        return maxima;
    }

    static float[] euclidean(float[] x, int rows, int width) {
        float[] norms = new float[rows];
        IntStream.range(0, rows)
                .parallel()
                .forEach(row -> norms[row] = (float) Math.sqrt(squares(x, row * width, width, 0)));
        return norms;
    }

    /** The root of the largest of the squares of rows; no number if one of them is none. */
    static double largest(double[] squares) {
        double largest = 0;
        for (double square : squares) {
            largest = Math.max(largest, square);
        }
        return Math.sqrt(largest);
    }

    static float[] normalize(
            float[] x, Norm norm, Optional<float[]> weight, Optional<float[]> bias, int rows, int width, int group) {
        if (width % group != 0) {
            throw new IllegalArgumentException(width + " channels in norm groups of " + group);
        }
        float[] y = new float[x.length];
        IntStream.range(0, rows).parallel().forEach(row -> {
            for (int from = 0; from < width; from += group) {
                int base = row * width + from;
                double mean = norm.kind() == Norm.Kind.LAYER ? sum(x, base, group) / group : 0;
                double scale = 1 / Math.sqrt(squares(x, base, group, mean) / group + norm.epsilon());
                for (int i = 0; i < group; i++) {
                    double value = (x[base + i] - mean) * scale;
                    if (weight.isPresent()) {
                        value *= (double) weight.get()[from + i] + norm.weightOffset();
                    }
                    if (bias.isPresent()) {
                        value += bias.get()[from + i];
                    }
                    y[base + i] = (float) value;
                }
            }
        });
        return y;
    }

    private static double sum(float[] x, int from, int count) {
        double sum = 0;
        for (int i = from; i < from + count; i++) {
            sum += x[i];
        }
        return sum;
    }

    /** Four sums side by side, so that one addition does not wait for the one before it. */
    private static double squares(float[] x, int from, int count, double mean) {
        double a = 0;
        double b = 0;
        double c = 0;
        double d = 0;
        int i = from;
        for (; i + 4 <= from + count; i += 4) {
            double v0 = x[i] - mean;
            double v1 = x[i + 1] - mean;
            double v2 = x[i + 2] - mean;
            double v3 = x[i + 3] - mean;
            a += v0 * v0;
            b += v1 * v1;
            c += v2 * v2;
            d += v3 * v3;
        }
        for (; i < from + count; i++) {
            a += (x[i] - mean) * (x[i] - mean);
        }
        return a + b + c + d;
    }
}
