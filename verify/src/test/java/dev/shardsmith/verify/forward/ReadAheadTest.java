package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.DType;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ReadAheadTest {
    private static final int LARGE = (1 << 16) + 1;

    /** A weight that counts how often it is read. */
    private static final class Counted implements WeightSource {
        private final float[] values;
        private final AtomicInteger reads = new AtomicInteger();
        private final CountDownLatch read = new CountDownLatch(1);

        Counted(int elements, float value) {
            values = new float[elements];
            values[0] = value;
        }

        @Override
        public int elements() {
            return values.length;
        }

        @Override
        public Set<DType> types() {
            return Set.of(DType.F32);
        }

        @Override
        public float[] load() throws IOException {
            reads.incrementAndGet();
            read.countDown();
            if (values[0] < 0) {
                throw new IOException("unreadable");
            }
            return values;
        }
    }

    private final ForwardBackend backend = SmallBackend.of(1 << 20, 4L * LARGE);
    private final Timeline timeline = new Timeline();

    private static List<ReadAhead.Step> steps(List<Counted> weights) {
        List<ReadAhead.Step> steps = new ArrayList<>();
        for (int i = 0; i < weights.size(); i += 2) {
            steps.add(new ReadAhead.Step(
                    "layer " + i / 2, List.of(List.of(weights.get(i)), List.of(weights.get(i + 1)))));
        }
        return steps;
    }

    private static List<Counted> weights(int layers, int elements) {
        List<Counted> weights = new ArrayList<>();
        for (int i = 0; i < 2 * layers; i++) {
            weights.add(new Counted(elements, i));
        }
        return weights;
    }

    @Test
    void theNextLayerIsReadWhileTheFirstIsOpenAndNoneBeyond() throws Exception {
        List<Counted> weights = weights(4, LARGE);
        try (ReadAhead ahead = new ReadAhead(backend, steps(weights), timeline);
                LayerReading first = ahead.next()) {
            assertThat(backend.download(first.kept(weights.get(0)).orElseThrow())[0])
                    .isZero();
            assertThat(weights.get(2).read.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(weights.get(3).read.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(weights.get(4).reads).hasValue(0);
            assertThat(weights.get(5).reads).hasValue(0);
        }
        assertThat(weights.get(7).reads).hasValue(0);
    }

    @Test
    void everyLayerGetsItsOwnWeightsAndEachIsReadOnce() throws Exception {
        List<Counted> weights = weights(6, LARGE);
        try (ReadAhead ahead = new ReadAhead(backend, steps(weights), timeline)) {
            for (int layer = 0; layer < 6; layer++) {
                try (LayerReading reading = ahead.next()) {
                    for (int side = 0; side < 2; side++) {
                        Counted weight = weights.get(2 * layer + side);
                        float[] values = backend.download(reading.kept(weight).orElseThrow());
                        assertThat(values[0]).isEqualTo(2 * layer + side);
                        // Still there for a second run over the same layer.
                        assertThat(reading.kept(weight)).isPresent();
                    }
                }
            }
        }
        assertThat(weights).allMatch(weight -> weight.reads.get() == 1);
        assertThat(timeline.bytes()).isEqualTo(12L * LARGE * Float.BYTES);
        assertThat(timeline.spans()).anyMatch(span -> span.activity() == Timeline.Activity.COMPUTE);
    }

    @Test
    void smallWeightsStayOnTheHeap() throws Exception {
        List<Counted> weights = weights(1, 3);
        try (ReadAhead ahead = new ReadAhead(backend, steps(weights), timeline);
                LayerReading reading = ahead.next()) {
            assertThat(reading.kept(weights.get(0))).isEmpty();
            assertThat(reading.load(weights.get(1))).containsExactly(1, 0, 0);
            assertThat(backend.download(reading.upload(weights.get(1)))).containsExactly(1, 0, 0);
        }
        assertThat(weights.get(1).reads).hasValue(1);
    }

    @Test
    void whatHasNoRoomIsReadWhenItIsAskedFor() throws Exception {
        List<Counted> weights = weights(1, 5 * LARGE);
        try (ReadAhead ahead = new ReadAhead(backend, steps(weights), timeline);
                LayerReading reading = ahead.next()) {
            assertThat(reading.kept(weights.get(0))).isEmpty();
            assertThat(weights.get(0).reads).hasValue(0);
            assertThat(reading.upload(weights.get(0)).length()).isEqualTo(5L * LARGE);
            assertThat(weights.get(0).reads).hasValue(1);
        }
    }

    @Test
    void withoutRoomNothingIsReadAhead() throws Exception {
        List<Counted> weights = weights(2, 3);
        try (ReadAhead ahead = new ReadAhead(new CpuBackend(), steps(weights), timeline);
                LayerReading reading = ahead.next()) {
            assertThat(reading.load(weights.get(0))).containsExactly(0, 0, 0);
            assertThat(weights.get(1).reads).hasValue(0);
        }
    }

    @Test
    void aWeightThatCannotBeReadFailsWhereItIsUsed() throws Exception {
        List<Counted> weights = weights(2, LARGE);
        weights.get(2).values[0] = -1;
        try (ReadAhead ahead = new ReadAhead(backend, steps(weights), timeline)) {
            try (LayerReading fine = ahead.next()) {
                assertThat(fine.kept(weights.get(0))).isPresent();
            }
            try (LayerReading broken = ahead.next()) {
                assertThat(broken.kept(weights.get(3))).isPresent();
                assertThatThrownBy(() -> broken.kept(weights.get(2)))
                        .isInstanceOf(IOException.class)
                        .hasMessage("unreadable");
            }
        }
    }

    @Test
    void aViewOfAWeightIsReadWhenItIsAskedFor() throws Exception {
        List<Counted> weights = weights(1, LARGE);
        try (ReadAhead ahead = new ReadAhead(backend, steps(weights), timeline);
                LayerReading reading = ahead.next()) {
            WeightSource view = weights.get(1).rows(1, 0, 2);
            assertThat(reading.kept(view)).isEmpty();
            assertThat(reading.load(view)).containsExactly(1, 0);
        }
    }
}
