package dev.shardsmith.verify.forward;

/**
 * How channels are normalised.
 *
 * @param kind by their root mean square, or by mean and variance
 * @param epsilon added to the mean square or the variance
 * @param weightOffset added to each weight: 1 for the "1p" form that stores weights around zero, else 0
 */
public record Norm(Kind kind, float epsilon, float weightOffset) {

    /** What is divided by. */
    public enum Kind {
        /** {@code x / sqrt(mean(x²) + ε)}. */
        RMS,
        /** {@code (x - mean(x)) / sqrt(variance(x) + ε)}. */
        LAYER
    }

    /** Checks that the epsilon is one. */
    public Norm {
        if (!(epsilon >= 0) || Float.isInfinite(epsilon)) {
            throw new IllegalArgumentException("a norm with an epsilon of " + epsilon);
        }
    }

    /** RMS norm with plain weights. */
    public static Norm rms(float epsilon) {
        return new Norm(Kind.RMS, epsilon, 0);
    }
}
