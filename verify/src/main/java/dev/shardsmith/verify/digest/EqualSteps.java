package dev.shardsmith.verify.digest;

/** The steps of a histogram. Ranges that no {@code double} can hold, and those below the smallest one, are taken as well. */
final class EqualSteps {
    private final double min;
    private final double max;
    private final int bars;
    private final double halfMin;
    private final double halfStep;

    private EqualSteps(double min, double max, int bars) {
        this.min = min;
        this.max = max;
        this.bars = bars;
        // Halves, because the range of two doubles may be no double.
        this.halfMin = min / 2;
        this.halfStep = (max / 2 - halfMin) / bars;
    }

    /** Steps from {@code min} to {@code max}: as many as wanted, or one where all values are equal. */
    static EqualSteps of(double min, double max, int bars) {
        return new EqualSteps(min, max, max > min ? bars : 1);
    }

    /** How many steps. */
    int bars() {
        return bars;
    }

    /** The lower edge of the first. */
    double min() {
        return min;
    }

    /** The upper edge of the last. */
    double max() {
        return max;
    }

    /** Which step a value between the edges lies in; an inner edge belongs to the step above it. */
    int place(double value) {
        return (int) Math.max(0, Math.min(bars - 1, (value / 2 - halfMin) / halfStep));
    }

    /** The lower edge of a step. */
    double edge(int step) {
        return min + step * (max / bars - min / bars);
    }
}
