package dev.shardsmith.verify.digest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorStatisticsTest {
    private static ByteBuffer floats(float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return bytes;
    }

    @Test
    void specialValuesAreCountedAndLeftOutOfTheMoments() {
        TensorStatistics statistics = TensorStatistics.of(DType.F32).orElseThrow();
        statistics.add(floats(1, 2, 3, 4, 0, -0f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY), 9);
        assertThat(statistics.values()).isEqualTo(9);
        assertThat(statistics.finite()).isEqualTo(6);
        assertThat(statistics.zeros()).isEqualTo(2);
        assertThat(statistics.nans()).isEqualTo(1);
        assertThat(statistics.infinities()).isEqualTo(2);
        assertThat(statistics.min()).isEqualTo(-0.0);
        assertThat(statistics.max()).isEqualTo(4);
        assertThat(statistics.mean()).isEqualTo(10.0 / 6, within(1e-15));
        assertThat(statistics.std()).isEqualTo(Math.sqrt(30.0 / 6 - 100.0 / 36), within(1e-15));
    }

    @Test
    void aLargeMeanDoesNotSpoilTheDeviation() {
        TensorStatistics statistics = TensorStatistics.of(DType.F64).orElseThrow();
        ByteBuffer block = ByteBuffer.allocate(8 * 4000).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 4000; i++) {
            block.putDouble(i * 8, 1e9 + (i % 2 == 0 ? 1 : -1));
        }
        statistics.add(block, 4000);
        assertThat(statistics.std()).isEqualTo(1, within(1e-9));
    }

    @Test
    void barsHoldEveryFiniteValueOnce() {
        Cases.forAll(30, random -> {
            float[] values = new float[3000];
            for (int i = 0; i < values.length; i++) {
                values[i] = random.nextInt(10) == 0 ? 0 : (float) (random.nextGaussian() * 0.02);
            }
            TensorStatistics statistics = TensorStatistics.of(DType.F32).orElseThrow();
            statistics.add(floats(values), values.length);
            List<ValueHistogram.Bar> bars = statistics.histogram().linear(statistics.min(), statistics.max(), 40);
            assertThat(bars).hasSize(40);
            assertThat(bars.stream().mapToDouble(ValueHistogram.Bar::count).sum())
                    .isEqualTo(3000, within(1e-6));
            int zeroBar = (int) ((0 - statistics.min()) / ((statistics.max() - statistics.min()) / 40));
            assertThat(bars.get(zeroBar).count()).isGreaterThan(150);
        });
    }

    @Test
    void aConstantTensorIsOneBar() {
        TensorStatistics statistics = TensorStatistics.of(DType.F32).orElseThrow();
        statistics.add(floats(1, 1, 1), 3);
        assertThat(statistics.histogram().linear(1, 1, 40)).containsExactly(new ValueHistogram.Bar(1, 1, 3));
    }

    @ParameterizedTest
    @EnumSource(names = {"BF16", "F16", "C32", "I16", "U16"})
    void countingCodesTellsTheSameAsLookingAtEachValue(DType dtype) {
        RandomGenerator random = Cases.random(dtype.ordinal());
        int elements = CodeCounts.WORTHWHILE + 3;
        int perElement = dtype.byteSize() / 2;
        ByteBuffer block = ByteBuffer.allocate(elements * dtype.byteSize()).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < elements * perElement; i++) {
            // Many zeros, and now and then any code at all, NaN and infinities among them.
            int kind = random.nextInt(100);
            block.putShort(2 * i, (short) (kind < 5 ? random.nextInt() : kind < 20 ? 0 : 0x3c00 + random.nextInt(300)));
        }
        TensorStatistics counted = TensorStatistics.of(dtype).orElseThrow();
        counted.add(block, elements);
        TensorStatistics each = TensorStatistics.of(dtype).orElseThrow();
        for (int first = 0; first < elements; first += 1000) {
            int count = Math.min(1000, elements - first);
            each.add(block.slice(first * dtype.byteSize(), count * dtype.byteSize()), count);
        }
        assertThat(counted.values()).isEqualTo((long) elements * perElement);
        assertThat(counted.finite()).isEqualTo(each.finite());
        assertThat(counted.zeros()).isEqualTo(each.zeros()).isGreaterThan(elements / 10);
        assertThat(counted.nans()).isEqualTo(each.nans());
        assertThat(counted.infinities()).isEqualTo(each.infinities());
        assertThat(counted.min()).isEqualTo(each.min());
        assertThat(counted.max()).isEqualTo(each.max());
        assertThat(counted.mean()).isCloseTo(each.mean(), withinPercentage(1e-9));
        assertThat(counted.std()).isCloseTo(each.std(), withinPercentage(1e-9));
        assertThat(counted.histogram().linear(-1000, 1000, 40))
                .isEqualTo(each.histogram().linear(-1000, 1000, 40));
    }

    @Test
    void countersBeginAnewWithEachBlock() {
        ByteBuffer ones = ByteBuffer.allocate(2 * CodeCounts.WORTHWHILE).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer twos = ByteBuffer.allocate(2 * CodeCounts.WORTHWHILE).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < CodeCounts.WORTHWHILE; i++) {
            ones.putShort(2 * i, (short) 0x3f80);
            twos.putShort(2 * i, (short) 0x4000);
        }
        TensorStatistics statistics = TensorStatistics.of(DType.BF16).orElseThrow();
        statistics.add(ones, CodeCounts.WORTHWHILE);
        statistics.add(twos, CodeCounts.WORTHWHILE);
        statistics.add(twos, CodeCounts.WORTHWHILE);
        assertThat(statistics.finite()).isEqualTo(3L * CodeCounts.WORTHWHILE);
        assertThat(statistics.min()).isEqualTo(1);
        assertThat(statistics.max()).isEqualTo(2);
        assertThat(statistics.mean()).isEqualTo(5.0 / 3, within(1e-15));
        assertThat(statistics.std()).isEqualTo(Math.sqrt(2.0 / 9), within(1e-15));
    }

    @Test
    void statisticsOfManifestsHaveNoHistogram() {
        TensorStatistics statistics =
                TensorStatistics.withoutHistogram(DType.F32).orElseThrow();
        statistics.add(floats(1, 2, Float.NaN), 3);
        assertThat(statistics.mean()).isEqualTo(1.5);
        assertThat(statistics.nans()).isEqualTo(1);
        assertThatThrownBy(statistics::histogram).isInstanceOf(NoSuchElementException.class);
    }
}
