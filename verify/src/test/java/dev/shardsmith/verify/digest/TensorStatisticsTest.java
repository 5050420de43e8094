package dev.shardsmith.verify.digest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;

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
}
