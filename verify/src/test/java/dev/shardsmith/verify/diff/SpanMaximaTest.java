package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class SpanMaximaTest {
    /** A span that is done later may come earlier in the tensor: what is as bad as the worst elsewhere is among the worst of all. */
    @Test
    void whatIsAsBadIsKeptAndWhatIsBetterIsNot() {
        SpanMaxima maxima = new SpanMaxima();
        TensorComparison later = new TensorComparison();
        for (int i = 100; i < 105; i++) {
            later.extreme(i, 3, 2);
        }
        maxima.add(later);
        TensorComparison earlier = new TensorComparison();
        maxima.startWith(earlier);
        earlier.extreme(7, 3, 2.5);
        earlier.extreme(8, 4, 3);
        assertThat(earlier.worst()).extracting(WorstElement::index).containsExactly(8L);
        earlier.merge(later);
        assertThat(earlier.worst()).extracting(WorstElement::index).containsExactly(8L, 100L, 101L, 102L, 103L);
        assertThat(earlier.maxAbs()).isEqualTo(1);
    }

    /** Ratios that nearly agree are a matter of rounding; only the largest possible one is handed on. */
    @Test
    void noRatioButTheLargestIsHandedOn() {
        SpanMaxima maxima = new SpanMaxima();
        TensorComparison first = new TensorComparison();
        first.extreme(0, 1, 3);
        maxima.add(first);
        TensorComparison second = new TensorComparison();
        maxima.startWith(second);
        assertThat(second.maxRel()).isZero();
        second.extreme(1, -1, 1);
        maxima.add(second);
        TensorComparison third = new TensorComparison();
        maxima.startWith(third);
        assertThat(third.maxRel()).isEqualTo(2);
    }
}
