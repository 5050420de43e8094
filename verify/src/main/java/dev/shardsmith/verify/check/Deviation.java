package dev.shardsmith.verify.check;

import java.util.Arrays;
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
 * @param resolution what is allowed for a token in the middle, in relation to the root mean square of all results: the
 *     share of a result that could be wrong without being noticed. Infinite if results are zero or no numbers
 * @param where that place
 * @param skipped tokens without a finite bound
 */
record Deviation(
        double maxAbs,
        double bound,
        double ratio,
        double size,
        double resolution,
        Optional<LayerRow.Place> where,
        int skipped) {
    /** Standard deviations of the error that are not called a difference. */
    static final double DEVIATIONS = 8;
    /** A resolution above which results prove nothing. */
    static final double CONCLUSIVE = 1e-3;

    boolean ok() {
        return ratio <= 1;
    }

    /** Whether a difference would have been seen. */
    boolean isConclusive() {
        return resolution <= CONCLUSIVE;
    }

    static Deviation of(Output left, Output right, int leftWidth, int rightWidth) {
        int tokens = left.error().length;
        int width = Math.min(leftWidth, rightWidth);
        Worst worst = new Worst();
        double squares = 0;
        double[] allowed = new double[tokens];
        int skipped = 0;
        for (int t = 0; t < tokens; t++) {
            allowed[t] = DEVIATIONS * Math.hypot(left.error()[t], right.error()[t]);
            if (allowed[t] == Double.POSITIVE_INFINITY) {
                skipped++;
                continue;
            }
            for (int c = 0; c < width; c++) {
                double a = left.values().at(t * leftWidth + c);
                double b = right.values().at(t * rightWidth + c);
                squares += a * a + b * b;
                worst.take(a, b, allowed[t], t, c);
            }
        }
        double rms = Math.sqrt(squares / (2.0 * Math.max(1, (tokens - skipped) * width)));
        return new Deviation(
                worst.maxAbs,
                worst.bound,
                Math.max(worst.ratio, 0),
                worst.size,
                resolution(allowed, rms),
                worst.where,
                skipped);
    }

    /** Two numbers whose bits differ, where none may. */
    static Deviation ofBits(double left, double right, LayerRow.Place where) {
        return new Deviation(
                difference(left, right),
                0,
                Double.POSITIVE_INFINITY,
                Math.max(Math.abs(left), Math.abs(right)),
                0,
                Optional.of(where),
                0);
    }

    private static double resolution(double[] allowed, double rms) {
        Arrays.sort(allowed);
        double middle = allowed.length == 0 ? 0 : allowed[allowed.length / 2];
        return rms > 0 && Double.isFinite(rms) && !Double.isNaN(middle) ? middle / rms : Double.POSITIVE_INFINITY;
    }

    /** The place where a difference is largest in relation to what is allowed, and the largest numbers anywhere. */
    private static final class Worst {
        private double maxAbs;
        private double bound;
        private double ratio = -1;
        private double size;
        private Optional<LayerRow.Place> where = Optional.empty();

        void take(double a, double b, double allowed, int token, int channel) {
            double difference = difference(a, b);
            maxAbs = Math.max(maxAbs, difference);
            size = Math.max(size, Math.max(Math.abs(a), Math.abs(b)));
            double relation = difference == 0 ? 0 : difference / allowed;
            if (relation > ratio || Double.isNaN(relation)) {
                ratio = Double.isNaN(relation) ? Double.POSITIVE_INFINITY : relation;
                bound = allowed;
                where = Optional.of(new LayerRow.Place(token, channel));
            }
        }
    }

    /** Nothing compared. */
    static Deviation none() {
        return new Deviation(0, 0, 0, 0, 0, Optional.empty(), 0);
    }

    /** This one or the other, whichever is further beyond what is allowed; what either cannot see, the two cannot. */
    Deviation or(Deviation other) {
        Deviation worse = other.ratio > ratio ? other : this;
        return new Deviation(
                worse.maxAbs,
                worse.bound,
                worse.ratio,
                worse.size,
                Math.max(resolution, other.resolution),
                worse.where,
                worse.skipped);
    }

    /** This one, of all tokens, after a close look that saw no difference: that look is what tells how much could go unseen. */
    Deviation seenAs(Deviation close) {
        return new Deviation(maxAbs, bound, ratio, size, close.resolution, where, skipped);
    }

    /** This one and that of further channels of the same tokens, the first of which is {@code channel}. */
    Deviation and(Deviation other, int channel) {
        boolean worse = where.isEmpty() || other.ratio > ratio;
        return new Deviation(
                Math.max(maxAbs, other.maxAbs),
                worse ? other.bound : bound,
                Math.max(ratio, other.ratio),
                Math.max(size, other.size),
                Math.max(resolution, other.resolution),
                worse ? other.where.map(place -> new LayerRow.Place(place.token(), channel + place.channel())) : where,
                Math.max(skipped, other.skipped));
    }

    /** Infinite where only one of both is a number, or infinities differ. */
    private static double difference(double a, double b) {
        if (Double.compare(a, b) == 0 || a == b) {
            return 0;
        }
        return Double.isFinite(a) && Double.isFinite(b) ? Math.abs(a - b) : Double.POSITIVE_INFINITY;
    }
}
