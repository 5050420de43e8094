package dev.shardsmith.verify.digest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ElementDecoderTest {
    private static double[] decode(DType dtype, byte[] bytes) {
        ElementDecoder decoder = ElementDecoder.of(dtype).orElseThrow();
        int count = bytes.length / dtype.byteSize() * decoder.perElement();
        double[] out = new double[count];
        decoder.doubles(ByteBuffer.wrap(bytes), 0, count, out);
        return out;
    }

    private static byte[] shorts(int... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * 2).order(ByteOrder.LITTLE_ENDIAN);
        for (int value : values) {
            bytes.putShort((short) value);
        }
        return bytes.array();
    }

    private static byte[] allCodes() {
        byte[] codes = new byte[256];
        for (int code = 0; code < 256; code++) {
            codes[code] = (byte) code;
        }
        return codes;
    }

    @Test
    void halvesHaveTheirIeeeValues() {
        assertThat(decode(DType.F16, shorts(0x0001, 0x03ff, 0x0400, 0x3c00, 0xc000, 0x7bff, 0x7c00, 0xfc00, 0x8000)))
                .containsExactly(
                        0x1p-24,
                        0x3ffp-24,
                        0x1p-14,
                        1,
                        -2,
                        65504,
                        Double.POSITIVE_INFINITY,
                        Double.NEGATIVE_INFINITY,
                        -0.0);
        assertThat(decode(DType.F16, shorts(0x7e01))[0]).isNaN();
    }

    @Test
    void brainFloatsAreTheUpperHalvesOfFloats() {
        assertThat(decode(DType.BF16, shorts(0x3f80, 0xc040, 0x0001, 0x7f80)))
                .containsExactly(1, -3, 0x1p-133, Double.POSITIVE_INFINITY);
    }

    @Test
    void eightBitFloatsHaveTheEdgesOfTheirDefinitions() {
        double[] e4m3fn = decode(DType.F8_E4M3FN, allCodes());
        assertThat(e4m3fn[0x7e]).isEqualTo(448);
        assertThat(e4m3fn[0x7f]).isNaN();
        assertThat(e4m3fn[0x01]).isEqualTo(0x1p-9);
        assertThat(e4m3fn[0x38]).isEqualTo(1);
        double[] e5m2 = decode(DType.F8_E5M2, allCodes());
        assertThat(e5m2[0x7b]).isEqualTo(57344);
        assertThat(e5m2[0x7c]).isEqualTo(Double.POSITIVE_INFINITY);
        assertThat(e5m2[0x7d]).isNaN();
        assertThat(e5m2[0x01]).isEqualTo(0x1p-16);
        double[] e4m3fnuz = decode(DType.F8_E4M3FNUZ, allCodes());
        assertThat(e4m3fnuz[0x7f]).isEqualTo(240);
        assertThat(e4m3fnuz[0x80]).isNaN();
        assertThat(e4m3fnuz[0x01]).isEqualTo(0x1p-10);
        double[] e5m2fnuz = decode(DType.F8_E5M2FNUZ, allCodes());
        assertThat(e5m2fnuz[0x7f]).isEqualTo(57344);
        assertThat(e5m2fnuz[0x80]).isNaN();
        assertThat(e5m2fnuz[0x01]).isEqualTo(0x1p-17);
        double[] e8m0 = decode(DType.F8_E8M0FNU, allCodes());
        assertThat(e8m0[127]).isEqualTo(1);
        assertThat(e8m0[0]).isEqualTo(0x1p-127);
        assertThat(e8m0[254]).isEqualTo(0x1p127);
        assertThat(e8m0[255]).isNaN();
    }

    @Test
    void differentCodesDecodeToDifferentBits() {
        for (DType dtype : new DType[] {
            DType.F8_E4M3FN, DType.F8_E5M2, DType.F8_E4M3FNUZ, DType.F8_E5M2FNUZ, DType.F8_E8M0FNU, DType.I8, DType.U8
        }) {
            float[] values = new float[256];
            ElementDecoder.of(dtype).orElseThrow().floats(ByteBuffer.wrap(allCodes()), 0, 256, values);
            Set<Integer> bits = new HashSet<>();
            for (float value : values) {
                bits.add(Float.floatToRawIntBits(value));
            }
            assertThat(bits).as("%s", dtype).hasSize(256);
        }
    }

    @Test
    void nibblesComeLowOneFirst() {
        assertThat(decode(DType.F4_E2M1FN_X2, new byte[] {(byte) 0xf2, 0x17})).containsExactly(1, -6, 6, 0.5);
    }

    @Test
    void unsignedIntegersAreNotNegative() {
        assertThat(decode(DType.U8, new byte[] {(byte) 0xff})).containsExactly(255);
        assertThat(decode(DType.U16, shorts(0xffff))).containsExactly(65535);
        assertThat(decode(DType.U32, new byte[] {-1, -1, -1, -1})).containsExactly(4294967295.0);
        assertThat(decode(DType.U64, new byte[] {-1, -1, -1, -1, -1, -1, -1, -1}))
                .containsExactly(0x1p64);
        assertThat(decode(DType.I16, shorts(0xffff))).containsExactly(-1);
    }

    @Test
    void complexElementsAreTwoNumbers() {
        ByteBuffer bytes = ByteBuffer.allocate(8)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putFloat(1.5f)
                .putFloat(-2f);
        assertThat(decode(DType.C64, bytes.array())).containsExactly(1.5, -2);
        assertThat(decode(DType.C32, shorts(0x3c00, 0xc000))).containsExactly(1, -2);
    }

    @Test
    void rawBitsHaveNoValues() {
        assertThat(ElementDecoder.of(DType.BITS8)).isEmpty();
        assertThat(ElementDecoder.of(DType.QUINT4X2)).isEmpty();
        ElementDecoder wide = ElementDecoder.of(DType.F64).orElseThrow();
        assertThatThrownBy(() -> wide.floats(ByteBuffer.allocate(8), 0, 1, new float[1]))
                .isInstanceOf(IllegalStateException.class);
    }
}
