package dev.shardsmith.verify.forward;

/**
 * How a raw time step becomes the one that the scan uses: {@code clamp(softplus(raw + bias), min, max)}.
 *
 * @param softplus whether softplus is applied (else {@code raw + bias} is clamped as it is)
 * @param min lower limit
 * @param max upper limit
 */
public record TimeStep(boolean softplus, double min, double max) {

    /** Checks that the limits leave room. */
    public TimeStep {
        if (!(min <= max)) {
            throw new IllegalArgumentException("time steps between " + min + " and " + max);
        }
    }

    /** Above this, softplus is the identity in every implementation. */
    private static final double LINEAR_ABOVE = 20;

    /** Softplus without limits, as in Mamba-2. */
    public static final TimeStep SOFTPLUS = new TimeStep(true, 0, Double.POSITIVE_INFINITY);

    /** The step is taken as it is. */
    public static final TimeStep READY = new TimeStep(false, Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY);

    /** Softplus, then limits. */
    public static TimeStep limited(double min, double max) {
        return new TimeStep(true, min, max);
    }

    /** The step for one raw value with its bias already added. */
    public double of(double raw) {
        double step = raw;
        if (softplus && raw <= LINEAR_ABOVE) {
            step = Math.log1p(Math.exp(raw));
        }
        return Math.min(Math.max(step, min), max);
    }
}
