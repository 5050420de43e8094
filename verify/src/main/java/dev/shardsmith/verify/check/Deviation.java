package dev.shardsmith.verify.check;

import java.util.Optional;

/**
 * The difference of two results of [tokens, width] against what rounding allows.
 *
 * <p>{@value #DEVIATIONS} standard deviations of the error estimate are allowed: an estimate that is itself an upper limit
 * of each operation's error.
 *
 * @param maxAbs the largest difference
 * @param bound what is allowed where the difference is largest in relation to it
 * @param ratio the difference there in relation to what is allowed
 * @param size the largest result
 * @param where that place
 * @param skipped tokens without a finite bound
 */
record Deviation(double maxAbs, double bound, double ratio, double size, Optional<LayerRow.Place> where, int skipped) {
    /** Standard deviations of the error that are not called a difference. */
    static final double DEVIATIONS = 8;

    boolean ok() {
        return ratio <= 1;
    }

    static Deviation of(Output left, Output right, int leftWidth, int rightWidth) {
        int tokens = left.error().length;
        int width = Math.min(leftWidth, rightWidth);
        double maxAbs = 0;
        double worst = -1;
        double bound = 0;
        double size = 0;
        int skipped = 0;
        Optional<LayerRow.Place> where = Optional.empty();
        for (int t = 0; t < tokens; t++) {
            double allowed = DEVIATIONS * Math.hypot(left.error()[t], right.error()[t]);
            if (allowed == Double.POSITIVE_INFINITY) {
                skipped++;
                continue;
            }
            for (int c = 0; c < width; c++) {
                float a = left.values()[t * leftWidth + c];
                float b = right.values()[t * rightWidth + c];
                double difference = difference(a, b);
                maxAbs = Math.max(maxAbs, difference);
                size = Math.max(size, Math.max(Math.abs(a), Math.abs(b)));
                double ratio = difference == 0 ? 0 : difference / allowed;
                if (ratio > worst || Double.isNaN(ratio)) {
                    worst = Double.isNaN(ratio) ? Double.POSITIVE_INFINITY : ratio;
                    bound = allowed;
                    where = Optional.of(new LayerRow.Place(t, c));
                }
            }
        }
        return new Deviation(maxAbs, bound, Math.max(worst, 0), size, where, skipped);
    }

    /** Nothing compared. */
    static Deviation none() {
        return new Deviation(0, 0, 0, 0, Optional.empty(), 0);
    }

    /** This one and that of further channels of the same tokens, the first of which is {@code channel}. */
    Deviation and(Deviation other, int channel) {
        boolean worse = where.isEmpty() || other.ratio > ratio;
        return new Deviation(
                Math.max(maxAbs, other.maxAbs),
                worse ? other.bound : bound,
                Math.max(ratio, other.ratio),
                Math.max(size, other.size),
                worse ? other.where.map(place -> new LayerRow.Place(place.token(), channel + place.channel())) : where,
                Math.max(skipped, other.skipped));
    }

    /** Infinite where only one of both is a number, or infinities differ. */
    private static double difference(float a, float b) {
        if (Float.compare(a, b) == 0 || a == b) {
            return 0;
        }
        return Float.isFinite(a) && Float.isFinite(b) ? Math.abs((double) a - b) : Double.POSITIVE_INFINITY;
    }
}
