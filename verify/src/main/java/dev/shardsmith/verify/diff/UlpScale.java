package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Numbers the values of a type in ascending order, so that neighbours are one apart: units in the last place.
 *
 * <p>Both zeros have number 0 and negative values negative numbers. A value that the type does not have gets the number of
 * the nearest one that it has.
 */
final class UlpScale {
    private final DType dtype;
    private final double[] table;

    private UlpScale(DType dtype, double[] table) {
        this.dtype = dtype;
        this.table = table;
    }

    /** The scale of the type with fewer mantissa bits; a floating-point type is taken before an integer type. */
    static UlpScale ofCoarser(DType left, DType right) {
        DType coarser = mantissaBits(left) <= mantissaBits(right) ? left : right;
        return new UlpScale(coarser, coarser.bits() == 8 && mantissaBits(coarser) < 8 ? positives(coarser) : null);
    }

    DType dtype() {
        return dtype;
    }

    /** Whether its units are whole numbers: both types are integers then. */
    boolean countsIntegers() {
        return switch (dtype.kind()) {
            case SIGNED, UNSIGNED, BOOL, QUANTIZED -> true;
            case FLOAT, COMPLEX, BITS, PACKED -> false;
        };
    }

    /** Mantissa bits, which rank types from coarse to fine. */
    private static int mantissaBits(DType dtype) {
        return switch (dtype) {
            case F8_E8M0FNU -> 0;
            case F4_E2M1FN_X2 -> 1;
            case F8_E5M2, F8_E5M2FNUZ -> 2;
            case F8_E4M3FN, F8_E4M3FNUZ -> 3;
            case BF16 -> 7;
            case F16, C32 -> 10;
            case F32, C64 -> 23;
            case F64, C128 -> 52;
            case F6_E2M3, F6_E3M2, QUINT4X2, QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2 -> 64;
            case BOOL, I8, U8, QINT8, QUINT8, I16, U16, I32, U32, QINT32, I64, U64 -> 64;
        };
    }

    /** The numbers of {@code count} values. */
    void number(double[] values, int count, long[] out) {
        switch (dtype) {
            case F32, C64 -> {
                for (int i = 0; i < count; i++) {
                    out[i] = float32((float) values[i]);
                }
            }
            case BF16 -> {
                for (int i = 0; i < count; i++) {
                    out[i] = bfloat16((float) values[i]);
                }
            }
            case F16, C32 -> {
                for (int i = 0; i < count; i++) {
                    out[i] = float16((float) values[i]);
                }
            }
            case F4_E2M1FN_X2, F8_E4M3FN, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0FNU, F64, C128 ->
                each(values, count, out);
            case F6_E2M3, F6_E3M2, QUINT4X2, QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2 ->
                each(values, count, out);
            case BOOL, I8, U8, QINT8, QUINT8, I16, U16, I32, U32, QINT32, I64, U64 -> each(values, count, out);
        }
    }

    /** The numbers of a chunk's values that are floats and finite by their bits, as sign and magnitude. */
    void number(int[] bits, int[] out) {
        switch (dtype) {
            case F32, C64 -> System.arraycopy(bits, 0, out, 0, FloatChunk.VALUES);
            case BF16 -> bfloat16(bits, out);
            case F16, C32, F4_E2M1FN_X2, F8_E4M3FN, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0FNU, F64, C128 ->
                each(bits, out);
            case F6_E2M3, F6_E3M2, QUINT4X2, QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2 -> each(bits, out);
            case BOOL, I8, U8, QINT8, QUINT8, I16, U16, I32, U32, QINT32, I64, U64 -> each(bits, out);
        }
    }

    private static void bfloat16(int[] bits, int[] out) {
        for (int i = 0; i < FloatChunk.VALUES; i++) {
            int magnitude = bits[i] & 0x7fffffff;
            out[i] = ((magnitude + 0x7fff + (magnitude >>> 16 & 1)) >>> 16) | (bits[i] & 0x80000000);
        }
    }

    private void each(int[] bits, int[] out) {
        for (int i = 0; i < FloatChunk.VALUES; i++) {
            int number = (int) number(Float.intBitsToFloat(bits[i]));
            out[i] = Math.abs(number) | (number & 0x80000000);
        }
    }

    private void each(double[] values, int count, long[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = number(values[i]);
        }
    }

    /** The number of one value; of NaN it means nothing. */
    long number(double value) {
        if (table != null) {
            long place = nearest(Math.abs(value));
            return value < 0 ? -place : place;
        }
        return switch (dtype) {
            case F64, C128 -> {
                long bits = Double.doubleToRawLongBits(value);
                yield bits >= 0 ? bits : Long.MIN_VALUE - bits;
            }
            case F32, C64 -> float32((float) value);
            case BF16 -> bfloat16((float) value);
            case F16, C32 -> float16((float) value);
            case F4_E2M1FN_X2, F8_E4M3FN, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0FNU -> (long) value;
            case F6_E2M3, F6_E3M2, QUINT4X2, QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2 -> (long) value;
            case BOOL, I8, U8, QINT8, QUINT8, I16, U16, I32, U32, QINT32, I64, U64 -> (long) value;
        };
    }

    private static long float32(float value) {
        int bits = Float.floatToRawIntBits(value);
        return signed(bits & 0x7fffffff, bits);
    }

    private static long bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        int magnitude = bits & 0x7fffffff;
        return signed((magnitude + 0x7fff + (magnitude >>> 16 & 1)) >>> 16, bits);
    }

    /** The magnitude with the sign of {@code bits}, without a branch that random signs would mislead. */
    private static int signed(int magnitude, int bits) {
        int mask = bits >> 31;
        return (magnitude ^ mask) - mask;
    }

    /** Scaled so that a float's mantissa has as many bits as the half's, subnormals included; then the bits are in order. */
    private static long float16(float value) {
        float magnitude = Math.min(Math.abs(value), 0x1p16f);
        int bits;
        if (magnitude < 0x1p-14f) {
            bits = (int) Math.rint(magnitude * 0x1p24f);
        } else {
            int raw = Float.floatToRawIntBits(magnitude) - (112 << 23);
            bits = (raw + 0xfff + (raw >>> 13 & 1)) >>> 13;
        }
        return signed(bits, Float.floatToRawIntBits(value));
    }

    private int nearest(double magnitude) {
        int place = Arrays.binarySearch(table, magnitude);
        if (place >= 0) {
            return place;
        }
        int above = -place - 1;
        if (above == 0 || above == table.length) {
            return above == 0 ? 0 : table.length - 1;
        }
        int below = above - 1;
        int side = Double.compare(magnitude - table[below], table[above] - magnitude);
        // In the middle a cast takes the even code; the type of powers of two alone has none to choose and goes up.
        boolean up = side > 0 || side == 0 && (dtype == DType.F8_E8M0FNU || below % 2 != 0);
        return up ? above : below;
    }

    /** The finite values of a small type that are not negative, ascending. */
    private static double[] positives(DType dtype) {
        ElementDecoder decoder = ElementDecoder.of(dtype).orElseThrow();
        byte[] codes = new byte[256];
        for (int code = 0; code < 256; code++) {
            codes[code] = (byte) code;
        }
        float[] values = new float[256 * decoder.perElement()];
        decoder.floats(ByteBuffer.wrap(codes), 0, values.length, values);
        double[] sorted = new double[values.length + 1];
        for (int i = 0; i < values.length; i++) {
            sorted[i + 1] = values[i];
        }
        return Arrays.stream(sorted)
                .filter(value -> value >= 0 && value < Double.POSITIVE_INFINITY)
                .map(Math::abs)
                .sorted()
                .distinct()
                .toArray();
    }
}
