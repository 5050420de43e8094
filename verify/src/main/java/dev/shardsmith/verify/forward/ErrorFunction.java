package dev.shardsmith.verify.forward;

/**
 * The error function to near double precision.
 *
 * <p>Near zero its Taylor series; further out Lentz's continued fraction of the complementary function.
 */
final class ErrorFunction {
    private static final double SERIES_BELOW = 2.5;
    private static final double ONE_ABOVE = 6;
    private static final double TWO_OVER_SQRT_PI = 2 / Math.sqrt(Math.PI);

    private ErrorFunction() {}

    static double of(double x) {
        double size = Math.abs(x);
        if (size < SERIES_BELOW) {
            return series(x);
        }
        return size > ONE_ABOVE ? Math.signum(x) : Math.signum(x) * (1 - complement(size));
    }

    /** Σ (-1)^n x^(2n+1) / (n! (2n+1)). */
    private static double series(double x) {
        double power = x;
        double sum = x;
        for (int n = 1; Math.abs(power) > 1e-18 * Math.abs(sum); n++) {
            power *= -x * x / n;
            sum += power / (2 * n + 1);
        }
        return TWO_OVER_SQRT_PI * sum;
    }

    /** exp(-x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + …))), from the inside out. */
    private static double complement(double x) {
        double fraction = x;
        for (int n = 60; n >= 1; n--) {
            fraction = x + n / 2.0 / fraction;
        }
        return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
    }
}
