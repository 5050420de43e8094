package dev.shardsmith.verify.digest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
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
            ValueHistogram.Bars bars = statistics
                    .histogram()
                    .linear(statistics.min(), statistics.max(), 40)
                    .orElseThrow();
            assertThat(bars.counts()).hasSize(40);
            assertThat(Arrays.stream(bars.counts()).sum()).isEqualTo(3000);
            assertThat(bars.counts()).doesNotContain(-1);
            int zeroBar = (int) ((0 - statistics.min()) / ((statistics.max() - statistics.min()) / 40));
            assertThat(bars.counts()[zeroBar]).isGreaterThan(150);
        });
    }

    @Test
    void fewValuesOfARangeThatIsSmallBesideThemAreNotLost() {
        TensorStatistics statistics = TensorStatistics.of(DType.F32).orElseThrow();
        ByteBuffer block = floats(200, 201, 202, 203, 204);
        statistics.add(block, 5);
        ValueHistogram.Bars spread = statistics.histogram().linear(200, 204, 4).orElseThrow();
        assertThat(spread.counts()).containsExactly(1, 1, 1, 2);
        assertThat(statistics.bars(block, 5, 4).orElseThrow().counts()).containsExactly(1, 1, 1, 2);
    }

    @Test
    void weightsAboutOneKeepTheirShape() {
        float[] values = new float[20_000];
        RandomGenerator random = Cases.random(5);
        for (int i = 0; i < values.length; i++) {
            values[i] = 1 + (float) random.nextGaussian() * 0.05f;
        }
        TensorStatistics statistics = TensorStatistics.of(DType.F32).orElseThrow();
        ByteBuffer block = floats(values);
        statistics.add(block, values.length);
        long[] exact = statistics.bars(block, values.length, 20).orElseThrow().counts();
        long[] spread = statistics
                .histogram()
                .linear(statistics.min(), statistics.max(), 20)
                .orElseThrow()
                .counts();
        for (int i = 0; i < exact.length; i++) {
            assertThat((double) spread[i]).isCloseTo(exact[i], within(250.0));
        }
    }

    @Test
    void barsOfABlockAreThoseOfEqualSteps() {
        Cases.forAll(30, random -> {
            int count = 1 + random.nextInt(5000);
            ByteBuffer block = ByteBuffer.allocate(8 * count).order(ByteOrder.LITTLE_ENDIAN);
            double[] values = new double[count];
            for (int i = 0; i < count; i++) {
                values[i] = random.nextInt(50) == 0 ? Double.NaN : 3 + random.nextInt(1000) / 8.0;
                block.putDouble(8 * i, values[i]);
            }
            TensorStatistics statistics =
                    TensorStatistics.withoutHistogram(DType.F64).orElseThrow();
            statistics.add(block, count);
            double[] finite = Arrays.stream(values).filter(Double::isFinite).toArray();
            double low = Arrays.stream(finite).min().orElse(0);
            double high = Arrays.stream(finite).max().orElse(0);
            long[] expected = new long[high > low ? 8 : 1];
            for (double value : finite) {
                expected[high > low ? (int) Math.min(7, Math.floor((value - low) * 8 / (high - low))) : 0]++;
            }
            assertThat(statistics
                            .bars(block, count, 8)
                            .map(ValueHistogram.Bars::counts)
                            .orElse(new long[1]))
                    .isEqualTo(expected);
        });
    }

    @Test
    void rangesBeyondThoseOfNumbersAreTakenToo() {
        ByteBuffer block = ByteBuffer.allocate(8 * 5).order(ByteOrder.LITTLE_ENDIAN);
        double[] values = {-Double.MAX_VALUE, -1e308, 0, 1e308, Double.MAX_VALUE};
        for (int i = 0; i < values.length; i++) {
            block.putDouble(8 * i, values[i]);
        }
        TensorStatistics statistics = TensorStatistics.of(DType.F64).orElseThrow();
        statistics.add(block, 5);
        assertThat(statistics.bars(block, 5, 4).orElseThrow().counts()).containsExactly(2, 0, 1, 2);
        ValueHistogram.Bars spread = statistics
                .histogram()
                .linear(statistics.min(), statistics.max(), 4)
                .orElseThrow();
        assertThat(Arrays.stream(spread.counts()).sum()).isEqualTo(5);
        ByteBuffer tiny = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
        tiny.putDouble(8, Double.MIN_VALUE);
        TensorStatistics smallest = TensorStatistics.of(DType.F64).orElseThrow();
        smallest.add(tiny, 2);
        assertThat(Arrays.stream(smallest.bars(tiny, 2, 40).orElseThrow().counts())
                        .sum())
                .isEqualTo(2);
    }

    @Test
    void aConstantTensorIsOneBar() {
        TensorStatistics statistics = TensorStatistics.of(DType.F32).orElseThrow();
        statistics.add(floats(1, 1, 1), 3);
        assertThat(statistics.histogram().linear(1, 1, 40).orElseThrow().counts())
                .containsExactly(3);
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
        assertThat(counted.histogram().linear(-1000, 1000, 40).orElseThrow().counts())
                .isEqualTo(
                        each.histogram().linear(-1000, 1000, 40).orElseThrow().counts());
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
