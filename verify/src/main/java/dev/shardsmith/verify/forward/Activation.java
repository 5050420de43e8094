package dev.shardsmith.verify.forward;

/** The functions that act on one number. */
public enum Activation {
    /** x. */
    IDENTITY,
    /** x · sigmoid(x). */
    SILU,
    /** max(x, 0)². */
    SQUARED_RELU,
    /** x · Φ(x), with the error function. */
    GELU,
    /** GELU in its hyperbolic tangent form. */
    GELU_TANH;

    private static final double SQRT_HALF = Math.sqrt(0.5);
    private static final double TANH_SCALE = Math.sqrt(2 / Math.PI);

    /** The value at x. */
    public double of(double x) {
        return switch (this) {
            case IDENTITY -> x;
            case SILU -> x / (1 + Math.exp(-x));
            case SQUARED_RELU -> x > 0 ? x * x : 0;
            case GELU -> 0.5 * x * (1 + ErrorFunction.of(x * SQRT_HALF));
            case GELU_TANH -> 0.5 * x * (1 + Math.tanh(TANH_SCALE * (x + 0.044715 * x * x * x)));
        };
    }

    /** An upper limit of the size of the derivative for arguments of at most the given size. */
    double slope(double size) {
        return switch (this) {
            case IDENTITY -> 1;
            case SILU -> 1.1;
            case SQUARED_RELU -> 2 * size;
            case GELU, GELU_TANH -> 1.13;
        };
    }
}
