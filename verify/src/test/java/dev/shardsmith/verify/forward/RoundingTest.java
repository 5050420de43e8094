package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import org.junit.jupiter.api.Test;

final class RoundingTest {

    @Test
    void tiesGoToTheEvenNeighbour() {
        assertThat(Rounding.BF16.of(1 + 0x1p-8f)).isEqualTo(1);
        assertThat(Rounding.BF16.of(1 + 3 * 0x1p-8f)).isEqualTo(1 + 0x1p-6f);
        assertThat(Rounding.BF16.of(1 + 0x1p-8f + 0x1p-20f)).isEqualTo(1 + 0x1p-7f);
        assertThat(Rounding.F16.of(-1 - 0x1p-11f)).isEqualTo(-1);
        assertThat(Rounding.F16.of(-1 - 3 * 0x1p-11f)).isEqualTo(-1 - 0x1p-9f);
    }

    @Test
    void theSmallestAndTheLargestNumbersAreThoseOfTheType() {
        assertThat(Rounding.F16.of(65519.99f)).isEqualTo(65504);
        assertThat(Rounding.F16.of(65520)).isEqualTo(Float.POSITIVE_INFINITY);
        assertThat(Rounding.F16.of(-1e6f)).isEqualTo(Float.NEGATIVE_INFINITY);
        assertThat(Rounding.F16.of(0x1p-24f)).isEqualTo(0x1p-24f);
        assertThat(Rounding.F16.of(0x1p-25f)).isZero();
        assertThat(Rounding.F16.of(0x1.8p-24f)).isEqualTo(0x1p-23f);
        assertThat(Rounding.BF16.of(Float.MAX_VALUE)).isEqualTo(Float.POSITIVE_INFINITY);
        assertThat(Rounding.BF16.of(Float.MIN_VALUE)).isZero();
        assertThat(Rounding.BF16.of(0x1p-133f)).isEqualTo(0x1p-133f);
        assertThat(Rounding.F8_E4M3FN.of(448)).isEqualTo(448);
        assertThat(Rounding.F8_E4M3FN.of(500)).isNaN();
        assertThat(Rounding.F16.of(Float.NaN)).isNaN();
        assertThat(Float.floatToRawIntBits(Rounding.F16.of(-0f))).isEqualTo(0x80000000);
    }

    @Test
    void theNearestNumberIsTakenWhateverTheSize() {
        Cases.forAll(200, random -> {
            float value = (float) (random.nextGaussian() * Math.pow(2, random.nextInt(-30, 16)));
            float half = Rounding.F16.of(value);
            double step = Math.max(0x1p-24, Math.pow(2, Math.floor(Math.log(Math.abs(value)) / Math.log(2)) - 10));
            if (Math.abs(value) < 65504) {
                assertThat(Math.abs((double) half - value)).isLessThanOrEqualTo(step / 2 * 1.0000001);
                assertThat(half / 0x1p-24 % 1).isZero();
            }
            assertThat(Rounding.F16.of(half)).isEqualTo(half);
        });
    }

    @Test
    void floatAndIntegersAreNotRounded() {
        assertThat(Rounding.of(DType.F32)).isEmpty();
        assertThat(Rounding.of(DType.F64)).isEmpty();
        assertThat(Rounding.of(DType.I64)).isEmpty();
        assertThat(Rounding.of(DType.F16)).contains(Rounding.F16);
    }
}
