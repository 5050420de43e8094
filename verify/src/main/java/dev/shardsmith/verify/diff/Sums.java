package dev.shardsmith.verify.diff;

/**
 * Sums of products of two chunks, for norms, the cosine and the root mean square of the difference.
 *
 * <p>Several partial sums keep the floating-point units busy; their number is fixed, so the result does not depend on the
 * machine. If a value is not finite the sums are made again without it.
 */
final class Sums {
    private Sums() {}

    /** The sum of the squares of the finite values. */
    static double squares(double[] values, int count) {
        double sum0 = 0;
        double sum1 = 0;
        double sum2 = 0;
        double sum3 = 0;
        int i = 0;
        for (; i + 3 < count; i += 4) {
            sum0 += values[i] * values[i];
            sum1 += values[i + 1] * values[i + 1];
            sum2 += values[i + 2] * values[i + 2];
            sum3 += values[i + 3] * values[i + 3];
        }
        for (; i < count; i++) {
            sum0 += values[i] * values[i];
        }
        double sum = (sum0 + sum1) + (sum2 + sum3);
        return Double.isFinite(sum) ? sum : finiteSquares(values, count);
    }

    private static double finiteSquares(double[] values, int count) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum += Double.isFinite(values[i]) ? values[i] * values[i] : 0;
        }
        return sum;
    }

    /** Adds the sums over the pairs of finite values to the result; true if all values are finite. */
    static boolean add(double[] left, double[] right, int count, TensorComparison result) {
        double dot0 = 0;
        double dot1 = 0;
        double left0 = 0;
        double left1 = 0;
        double right0 = 0;
        double right1 = 0;
        double difference0 = 0;
        double difference1 = 0;
        int i = 0;
        for (; i + 1 < count; i += 2) {
            double a0 = left[i];
            double b0 = right[i];
            double d0 = a0 - b0;
            dot0 += a0 * b0;
            left0 += a0 * a0;
            right0 += b0 * b0;
            difference0 += d0 * d0;
            double a1 = left[i + 1];
            double b1 = right[i + 1];
            double d1 = a1 - b1;
            dot1 += a1 * b1;
            left1 += a1 * a1;
            right1 += b1 * b1;
            difference1 += d1 * d1;
        }
        if (i < count) {
            dot0 += left[i] * right[i];
            left0 += left[i] * left[i];
            right0 += right[i] * right[i];
            difference0 += (left[i] - right[i]) * (left[i] - right[i]);
        }
        boolean finite = Double.isFinite(left0 + left1) && Double.isFinite(right0 + right1);
        if (finite) {
            result.dot += dot0 + dot1;
            result.leftSquares += left0 + left1;
            result.rightSquares += right0 + right1;
            result.squaredDifferences += difference0 + difference1;
        } else {
            addFinite(left, right, count, result);
        }
        return finite;
    }

    private static void addFinite(double[] left, double[] right, int count, TensorComparison result) {
        for (int i = 0; i < count; i++) {
            if (Double.isFinite(left[i]) && Double.isFinite(right[i])) {
                double difference = left[i] - right[i];
                result.dot += left[i] * right[i];
                result.leftSquares += left[i] * left[i];
                result.rightSquares += right[i] * right[i];
                result.squaredDifferences += difference * difference;
            }
        }
    }
}
