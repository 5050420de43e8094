package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * Turns little-endian stored elements into numbers, a chunk at a time.
 *
 * <p>A complex element is two numbers (real, imaginary); so is an element of {@code float4_e2m1fn_x2} (low nibble first).
 * Decoding loses nothing where {@link #domain()} says so: also NaN payloads survive, so two elements have the same decoded
 * bits exactly if they have the same stored bits.
 *
 * <p>Not safe for use by several threads: it holds scratch space.
 */
public final class ElementDecoder {
    /** The most numbers that one call decodes; the arrays of a chunk stay in the first-level cache. */
    public static final int CHUNK = 1024;

    /** In which Java type all values of a dtype are exact. */
    public enum Domain {
        /** Every value is a {@code float}. */
        FLOAT,
        /** Every value is a {@code double}. */
        DOUBLE,
        /** Every value is a {@code long}, signed or unsigned as the dtype is. */
        LONG
    }

    private final DType dtype;
    private final Domain domain;
    private final int perElement;
    private final byte[] bytes;
    private final short[] shorts;
    private final int[] ints;
    private final float[] narrow;

    private ElementDecoder(DType dtype, Domain domain, int perElement) {
        this.dtype = dtype;
        this.domain = domain;
        this.perElement = perElement;
        int unit = unitBytes(dtype, perElement);
        this.bytes = new byte[unit <= 1 ? CHUNK : 0];
        this.shorts = new short[unit == 2 ? CHUNK : 0];
        this.ints = new int[unit == 4 ? CHUNK : 0];
        this.narrow = new float[domain == Domain.FLOAT ? CHUNK : 0];
    }

    /** A decoder for a dtype; empty for raw bits and packed types whose elements have no agreed numeric meaning. */
    public static Optional<ElementDecoder> of(DType dtype) {
        return switch (dtype) {
            case F32, F16, BF16, F8_E4M3FN, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0FNU -> floats(dtype, 1);
            case I16, I8, U16, U8, BOOL, QINT8, QUINT8 -> floats(dtype, 1);
            case F4_E2M1FN_X2, C32, C64 -> floats(dtype, 2);
            case F64, I32, U32, QINT32 -> Optional.of(new ElementDecoder(dtype, Domain.DOUBLE, 1));
            case C128 -> Optional.of(new ElementDecoder(dtype, Domain.DOUBLE, 2));
            case I64, U64 -> Optional.of(new ElementDecoder(dtype, Domain.LONG, 1));
            case F6_E2M3, F6_E3M2, QUINT4X2, QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2 -> Optional.empty();
        };
    }

    private static Optional<ElementDecoder> floats(DType dtype, int perElement) {
        return Optional.of(new ElementDecoder(dtype, Domain.FLOAT, perElement));
    }

    private static int unitBytes(DType dtype, int perElement) {
        return dtype.byteSize() / perElement;
    }

    /** The type that is decoded. */
    public DType dtype() {
        return dtype;
    }

    /** In which Java type all values are exact. */
    public Domain domain() {
        return domain;
    }

    /** Numbers that one element holds: 2 for complex types and pairs of nibbles, else 1. */
    public int perElement() {
        return perElement;
    }

    /**
     * Decodes elements {@code [first, first + count / perElement())} of a block.
     *
     * @param block stored elements, the first at index 0 whatever the buffer's position
     * @param first the first element to decode
     * @param count numbers to decode, at most {@link #CHUNK}
     * @param out receives them
     * @throws IllegalStateException if not every value is a {@code float}
     */
    public void floats(ByteBuffer block, int first, int count, float[] out) {
        switch (dtype) {
            case F32, C64 -> at(block, first).asFloatBuffer().get(out, 0, count);
            case BF16 -> bfloat16(shorts(block, first, count), count, out);
            case F16, C32 -> float16(shorts(block, first, count), count, out);
            case I16 -> signed(shorts(block, first, count), count, out);
            case U16 -> unsigned(shorts(block, first, count), count, out);
            case I8, QINT8 -> signed(bytes(block, first, count), count, out);
            case U8, QUINT8, BOOL -> unsigned(bytes(block, first, count), count, out);
            case F4_E2M1FN_X2 -> nibbles(bytes(block, first, count / 2), count / 2, out);
            case F8_E4M3FN -> table(bytes(block, first, count), FloatTables.e4m3fn(), count, out);
            case F8_E5M2 -> table(bytes(block, first, count), FloatTables.e5m2(), count, out);
            case F8_E4M3FNUZ -> table(bytes(block, first, count), FloatTables.e4m3fnuz(), count, out);
            case F8_E5M2FNUZ -> table(bytes(block, first, count), FloatTables.e5m2fnuz(), count, out);
            case F8_E8M0FNU -> table(bytes(block, first, count), FloatTables.e8m0fnu(), count, out);
            case F64, C128, I64, I32, U64, U32, QINT32 -> throw notExact();
            case F6_E2M3, F6_E3M2, QUINT4X2, QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2 -> throw notExact();
        }
    }

    /** As {@link #floats}, for any type; 64-bit integers are rounded. */
    public void doubles(ByteBuffer block, int first, int count, double[] out) {
        switch (domain) {
            case FLOAT -> {
                floats(block, first, count, narrow);
                for (int i = 0; i < count; i++) {
                    out[i] = narrow[i];
                }
            }
            case DOUBLE -> exactDoubles(block, first, count, out);
            case LONG -> {
                long[] wide = new long[count];
                longs(block, first, count, wide);
                for (int i = 0; i < count; i++) {
                    out[i] = dtype == DType.U64 ? unsignedToDouble(wide[i]) : wide[i];
                }
            }
        }
    }

    /** As {@link #floats}, for 64-bit integers; unsigned ones above 2^63 come out negative. */
    public void longs(ByteBuffer block, int first, int count, long[] out) {
        if (domain != Domain.LONG) {
            throw new IllegalStateException(dtype + " is no 64-bit integer");
        }
        at(block, first).asLongBuffer().get(out, 0, count);
    }

    /** The value of an unsigned 64-bit integer, rounded. */
    public static double unsignedToDouble(long value) {
        return value >= 0 ? value : ((value >>> 1) | (value & 1)) * 2.0;
    }

    private void exactDoubles(ByteBuffer block, int first, int count, double[] out) {
        if (dtype == DType.F64 || dtype == DType.C128) {
            at(block, first).asDoubleBuffer().get(out, 0, count);
            return;
        }
        at(block, first).asIntBuffer().get(ints, 0, count);
        for (int i = 0; i < count; i++) {
            out[i] = dtype == DType.U32 ? Integer.toUnsignedLong(ints[i]) : ints[i];
        }
    }

    private IllegalStateException notExact() {
        return new IllegalStateException(dtype + " is not exact in float");
    }

    private ByteBuffer at(ByteBuffer block, int first) {
        ByteBuffer view = block.duplicate();
        view.clear().position(Math.multiplyExact(first, dtype.byteSize()));
        return view.slice().order(ByteOrder.LITTLE_ENDIAN);
    }

    private short[] shorts(ByteBuffer block, int first, int count) {
        at(block, first).asShortBuffer().get(shorts, 0, count);
        return shorts;
    }

    private byte[] bytes(ByteBuffer block, int first, int count) {
        at(block, first).get(bytes, 0, count);
        return bytes;
    }

    private static void bfloat16(short[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = Float.intBitsToFloat(in[i] << 16);
        }
    }

    private static void float16(short[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = float16(in[i]);
        }
    }

    /** The value of an IEEE half: the multiplication moves the exponent, and is exact for subnormals too. */
    private static float float16(short half) {
        int magnitude = (half & 0x7fff) << 13;
        int sign = (half & 0x8000) << 16;
        int bits = magnitude >= 0x7c00 << 13
                ? magnitude | 0x7f800000
                : Float.floatToRawIntBits(Float.intBitsToFloat(magnitude) * 0x1p112f);
        return Float.intBitsToFloat(bits | sign);
    }

    private static void signed(short[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = in[i];
        }
    }

    private static void unsigned(short[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = in[i] & 0xffff;
        }
    }

    private static void signed(byte[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = in[i];
        }
    }

    private static void unsigned(byte[] in, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = in[i] & 0xff;
        }
    }

    private static void table(byte[] in, float[] values, int count, float[] out) {
        for (int i = 0; i < count; i++) {
            out[i] = values[in[i] & 0xff];
        }
    }

    private static void nibbles(byte[] in, int count, float[] out) {
        float[] values = FloatTables.fourBits();
        for (int i = 0; i < count; i++) {
            out[2 * i] = values[in[i] & 0xf];
            out[2 * i + 1] = values[(in[i] >> 4) & 0xf];
        }
    }
}
