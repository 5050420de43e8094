package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;

/** Reads floats of one type from buffers, exactly, as doubles. */
@FunctionalInterface
interface FloatDecoder {
    /** The value of the element at byte {@code at} of a little-endian buffer. */
    double decode(ByteBuffer bytes, int at);

    /** The decoder of a type of kind FLOAT. */
    static FloatDecoder of(DType dtype) {
        return switch (dtype) {
            case F64 -> ByteBuffer::getDouble;
            case F32 -> ByteBuffer::getFloat;
            case BF16 -> (bytes, at) -> Float.intBitsToFloat(bytes.getShort(at) << 16);
            case F16 -> (bytes, at) -> half(bytes.getShort(at));
            case F8_E8M0FNU -> (bytes, at) -> powerOfTwo(bytes.get(at) & 0xFF);
            case F8_E4M3FN, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ -> {
                FloatFormat format = FloatFormat.of(dtype).orElseThrow();
                yield (bytes, at) -> format.decode(bytes.get(at) & 0xFF);
            }
            case F4_E2M1FN_X2,
                    F6_E2M3,
                    F6_E3M2,
                    I64,
                    I32,
                    I16,
                    I8,
                    U64,
                    U32,
                    U16,
                    U8,
                    BOOL,
                    C32,
                    C64,
                    C128,
                    QINT8,
                    QUINT8,
                    QINT32,
                    QUINT4X2,
                    QUINT2X4,
                    BITS8,
                    BITS16,
                    BITS1X8,
                    BITS2X4,
                    BITS4X2 -> throw new IllegalArgumentException(dtype.torchName() + " is no float");
        };
    }

    /** The value of an IEEE half, its NaN payload kept. */
    private static double half(short bits) {
        int sign = (bits & 0x8000) << 16;
        int magnitude = bits & 0x7FFF;
        if (magnitude >= 0x7C00) {
            return Float.intBitsToFloat(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
        }
        // The exponent is rebased by a multiplication, which is exact and also right for subnormal halves.
        float value = Float.intBitsToFloat(magnitude << 13) * 0x1p112f;
        return sign == 0 ? value : -value;
    }

    private static double powerOfTwo(int exponent) {
        return exponent == 0xFF ? Double.NaN : Math.scalb(1.0, exponent - 127);
    }
}
