package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class ElementCastTest {
    @ParameterizedTest
    @CsvSource({
        // Published limits of the formats, and values that PyTorch gives for the same casts.
        "F16, 65504, 7bff",
        "F16, 65519.99, 7bff",
        "F16, 65520, 7c00",
        "F16, 5.960464477539063e-8, 1",
        "F16, 2.980232238769531e-8, 0",
        "F16, 2.980232238769532e-8, 1",
        "F16, 1, 3c00",
        "F16, -2, c000",
        "BF16, 1, 3f80",
        "BF16, 1.00390625, 3f80",
        "BF16, 1.01171875, 3f82",
        "BF16, 3.3895313892515355e38, 7f7f",
        "BF16, 3.4e38, 7f80",
        "BF16, 9.183549615799121e-41, 1",
        "F8_E4M3FN, 448, 7e",
        "F8_E4M3FN, 464, 7e",
        "F8_E4M3FN, 465, 7f",
        "F8_E4M3FN, 0.001953125, 1",
        "F8_E4M3FN, -1, b8",
        "F8_E4M3FN, -0.0, 80",
        "F8_E5M2, 57344, 7b",
        "F8_E5M2, 61439, 7b",
        "F8_E5M2, 61440, 7c",
        "F8_E5M2, 1.52587890625e-5, 1",
        "F8_E4M3FNUZ, 240, 7f",
        "F8_E4M3FNUZ, 248, 80",
        "F8_E4M3FNUZ, -0.0, 0",
        "F8_E4M3FNUZ, 1, 40",
        "F8_E5M2FNUZ, 57344, 7f",
        "F8_E5M2FNUZ, 1e9, 80",
        "F8_E5M2FNUZ, 1, 40"
    })
    void valuesTakeTheNearestPattern(DType dtype, double value, String bits) {
        assertThat(Integer.toHexString(FloatFormat.of(dtype).orElseThrow().encode(value)))
                .isEqualTo(bits);
    }

    @ParameterizedTest
    @EnumSource(FloatFormat.class)
    void everyPatternSurvivesDecodingAndEncoding(FloatFormat format) {
        int patterns = 1 << DType.valueOf(format.name()).bits();
        for (int bits = 0; bits < patterns; bits++) {
            double value = format.decode(bits);
            if (!Double.isNaN(value)) {
                assertThat(format.encode(value)).isEqualTo(bits);
            } else {
                assertThat(format.isNaN(format.encode(value))).isTrue();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(FloatFormat.class)
    void roundingGoesToTheNearerNeighbourAndToTheEvenOneOfTwo(FloatFormat format) {
        int largest = 0;
        while (Double.isFinite(format.decode(largest + 1)) && format.decode(largest + 1) > format.decode(largest)) {
            largest++;
        }
        for (int bits = 0; bits < largest; bits++) {
            double low = format.decode(bits);
            double high = format.decode(bits + 1);
            double middle = low + (high - low) / 2;
            assertThat(format.encode(Math.nextDown(middle))).isEqualTo(bits);
            assertThat(format.encode(Math.nextUp(middle))).isEqualTo(bits + 1);
            assertThat(format.encode(middle)).isEqualTo(bits % 2 == 0 ? bits : bits + 1);
        }
    }

    @Test
    void theFastNarrowingToBfloat16AgreesWithTheGeneralOne() throws IOException {
        ElementCast cast = ElementCast.of("t", DType.F32, DType.BF16);
        ByteBuffer source = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer target = ByteBuffer.allocate(2).order(ByteOrder.LITTLE_ENDIAN);
        Cases.forAll(20_000, random -> {
            int bits = random.nextInt(4) == 0 ? 0x7F7F0000 + random.nextInt(0x20000) : random.nextInt();
            source.putInt(0, bits);
            long overflows = cast.cast(source, 0, target, 0, 1);
            double value = Float.intBitsToFloat(bits);
            assertThat(target.getShort(0)).isEqualTo((short) FloatFormat.BF16.encode(value));
            boolean infinite = Float.isInfinite(Float.intBitsToFloat(target.getShort(0) << 16));
            assertThat(overflows).isEqualTo(Double.isFinite(value) && infinite ? 1 : 0);
        });
    }

    @Test
    void wideningIsExactAndKeepsNaN() throws IOException {
        for (DType from : new DType[] {DType.F16, DType.BF16, DType.F8_E5M2, DType.F8_E4M3FN, DType.F8_E8M0FNU}) {
            for (DType to : new DType[] {DType.F32, DType.F64}) {
                ElementCast cast = ElementCast.of("t", from, to);
                ByteBuffer source = ByteBuffer.allocate(2).order(ByteOrder.LITTLE_ENDIAN);
                ByteBuffer target = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
                for (int bits = 0; bits < 1 << from.bits(); bits++) {
                    source.putShort(0, (short) bits);
                    assertThat(cast.cast(source, 0, target, 0, 1)).isZero();
                    double expected = from == DType.F8_E8M0FNU
                            ? bits == 255 ? Double.NaN : Math.pow(2, bits - 127)
                            : FloatFormat.of(from).orElseThrow().decode(bits);
                    assertThat(to == DType.F32 ? target.getFloat(0) : target.getDouble(0))
                            .isEqualTo(Double.valueOf(expected));
                }
            }
        }
    }

    @Test
    void doublesAreRoundedOnceAndNotByWayOfFloats() throws IOException {
        // Just above the middle between two bfloat16; as a float it would be the middle, and then go to the even one
        // below.
        double value = 1 + 0x1p-8 + 0x1p-40;
        ByteBuffer source =
                ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putDouble(0, value);
        ByteBuffer target = ByteBuffer.allocate(2).order(ByteOrder.LITTLE_ENDIAN);
        ElementCast.of("t", DType.F64, DType.BF16).cast(source, 0, target, 0, 1);
        assertThat(target.getShort(0)).isEqualTo((short) 0x3F81);
    }

    @Test
    void integersThatFitAreCastAndOthersAreRefused() throws IOException {
        ByteBuffer source = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer target = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
        ElementCast narrow = ElementCast.of("step", DType.I64, DType.I16);
        source.putLong(0, -32768).putLong(8, 32768);
        narrow.cast(source, 0, target, 0, 1);
        assertThat(target.getShort(0)).isEqualTo((short) -32768);
        assertThatThrownBy(() -> narrow.cast(source, 8, target, 0, 1))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("32768 does not fit into int16")
                .hasMessageContaining("step");
        source.put(0, (byte) -1);
        ElementCast.of("t", DType.U8, DType.U32).cast(source, 0, target, 0, 1);
        assertThat(target.getInt(0)).isEqualTo(255);
    }

    @Test
    void castsBetweenKindsAreRefused() {
        for (DType[] pair : new DType[][] {
            {DType.F32, DType.I32},
            {DType.I32, DType.F32},
            {DType.I8, DType.U8},
            {DType.BOOL, DType.U8},
            {DType.C64, DType.F32},
            {DType.F32, DType.F8_E8M0FNU}
        }) {
            assertThatThrownBy(() -> ElementCast.of("weight", pair[0], pair[1]))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("weight");
        }
    }
}
