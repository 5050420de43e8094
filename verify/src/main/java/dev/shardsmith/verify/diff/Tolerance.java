package dev.shardsmith.verify.diff;

/**
 * How far two values may be apart and still count as the same.
 *
 * <p>They do if {@code |a - b| <= absolute + relative * max(|a|, |b|)}, or if they are at most {@code ulps} steps of the
 * coarser type apart. NaN is the same as NaN; infinities must be equal.
 *
 * @param relative share of the larger magnitude, at least 0
 * @param absolute in the tensor's own units, at least 0
 * @param ulps steps of the coarser type, at least 0
 */
public record Tolerance(double relative, double absolute, long ulps) {
    /** Nothing is allowed: the bits must be the same, or the values where the types differ. */
    public static final Tolerance EXACT = new Tolerance(0, 0, 0);

    /** Checks the limits. */
    public Tolerance {
        if (!(relative >= 0) || !(absolute >= 0) || ulps < 0) {
            throw new IllegalArgumentException("a tolerance is at least 0");
        }
    }

    /** True if nothing is allowed. */
    public boolean isExact() {
        return relative == 0 && absolute == 0 && ulps == 0;
    }

    boolean allows(double difference, double larger, long steps) {
        return difference <= absolute + relative * larger || (ulps > 0 && steps <= ulps);
    }
}
