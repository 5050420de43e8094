package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.shardsmith.verify.forward.Timeline.Activity;
import org.junit.jupiter.api.Test;

final class TimelineTest {
    private static final long MILLI = 1_000_000;

    private final Timeline timeline = new Timeline();
    private final long start = System.nanoTime();

    private void add(Activity activity, int side, String label, double from, double to) {
        timeline.add(activity, side, label, start + (long) (from * MILLI), start + (long) (to * MILLI), 10);
    }

    @Test
    void timeInWhichBothSidesReadCountsOnce() {
        add(Activity.READ, 0, "1", 0, 10);
        add(Activity.READ, 1, "1", 5, 15);
        add(Activity.READ, 0, "2", 20, 30);
        add(Activity.COMPUTE, 0, "1", 15, 16);
        assertThat(timeline.busy(Activity.READ)).isCloseTo(25e-3, within(1e-6));
        assertThat(timeline.busy(Activity.COMPUTE)).isCloseTo(1e-3, within(1e-6));
        assertThat(timeline.busy(Activity.COPY)).isZero();
        assertThat(timeline.bytes()).isEqualTo(40);
    }

    @Test
    void readingsOfOneLayerWithoutAPauseAreOneSpan() {
        add(Activity.READ, 0, "1", 0, 1);
        add(Activity.READ, 1, "1", 0.5, 2);
        add(Activity.READ, 0, "1", 1.1, 3);
        add(Activity.READ, 0, "1", 4, 5);
        add(Activity.READ, 0, "2", 5, 6);
        assertThat(timeline.spans()).hasSize(4);
        assertThat(timeline.spans().get(0).bytes()).isEqualTo(20);
        assertThat(timeline.spans().get(0).to() - timeline.spans().get(0).from())
                .isCloseTo(3e-3, within(1e-6));
    }
}
