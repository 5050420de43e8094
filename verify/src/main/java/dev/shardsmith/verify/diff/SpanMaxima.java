package dev.shardsmith.verify.diff;

import java.util.concurrent.atomic.DoubleAccumulator;
import java.util.concurrent.atomic.LongAccumulator;

/**
 * What the finished spans of a tensor have found, so that others pass over what cannot change the outcome.
 *
 * <p>The result does not depend on when a span looks: a maximum that was found stays one, and a pair that differs less than each of the
 * worst ones of a single span is not among the worst of all. Of ratios only the largest possible one is handed on, since a
 * comparison with any other is a matter of rounding.
 *
 * <p>Safe for use by several threads.
 */
final class SpanMaxima {
    /** No ratio is above it. */
    private static final double LARGEST_RATIO = 2;

    private final DoubleAccumulator leastOfWorst = new DoubleAccumulator(Math::max, WorstElements.NO_THRESHOLD);
    private final DoubleAccumulator difference = new DoubleAccumulator(Math::max, 0);
    private final DoubleAccumulator ratio = new DoubleAccumulator(Math::max, 0);
    private final LongAccumulator ulps = new LongAccumulator(Math::max, 0);

    /** Begins a span with what is known. */
    void startWith(TensorComparison span) {
        span.worst.requireAtLeast(leastOfWorst.get());
        span.maxAbs = difference.get();
        span.maxUlp = ulps.get();
        span.maxRel = ratio.get() == LARGEST_RATIO ? LARGEST_RATIO : 0;
    }

    /** Takes what a span found. */
    void add(TensorComparison span) {
        leastOfWorst.accumulate(span.worst.threshold());
        difference.accumulate(span.maxAbs);
        ratio.accumulate(span.maxRel);
        ulps.accumulate(span.maxUlp);
    }
}
