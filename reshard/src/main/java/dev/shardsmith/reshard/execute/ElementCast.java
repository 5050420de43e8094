package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;

/**
 * Changes the type of elements: floats to floats, rounded once to nearest even; integers to integers of the same signedness.
 *
 * <p>NaN stays NaN. A finite float that is too large becomes infinity, or NaN in types without infinity, and is counted. An
 * integer that does not fit is an error.
 */
final class ElementCast {
    private final String tensor;
    private final DType from;
    private final DType to;

    private ElementCast(String tensor, DType from, DType to) {
        this.tensor = tensor;
        this.from = from;
        this.to = to;
    }

    /**
     * The cast between two types.
     *
     * @param tensor name for messages
     * @throws CheckpointException if there is no such cast
     */
    static ElementCast of(String tensor, DType from, DType to) throws CheckpointException {
        boolean floats = from.kind() == DType.Kind.FLOAT && isArithmetic(to);
        boolean integers =
                (from.kind() == DType.Kind.SIGNED || from.kind() == DType.Kind.UNSIGNED) && from.kind() == to.kind();
        if (from != to && !floats && !integers) {
            throw CheckpointException.of(
                            CheckpointException.Kind.UNSUPPORTED,
                            tensor,
                            "elements of " + from.torchName() + " cannot be cast to " + to.torchName())
                    .withHint("keep the element type of this tensor");
        }
        return new ElementCast(tensor, from, to);
    }

    /** True for the types whose elements can be computed from a double. */
    static boolean isArithmetic(DType dtype) {
        return dtype == DType.F64 || dtype == DType.F32 || FloatFormat.of(dtype).isPresent();
    }

    /** Casts {@code count} elements from one buffer to another and tells how many finite ones became infinite. */
    long cast(ByteBuffer source, int sourceAt, ByteBuffer target, int targetAt, int count) throws CheckpointException {
        if (from == to) {
            target.put(targetAt, source, sourceAt, count * from.byteSize());
            return 0;
        }
        if (from.kind() != DType.Kind.FLOAT) {
            castIntegers(source, sourceAt, target, targetAt, count);
            return 0;
        }
        if (from == DType.BF16 && to == DType.F32) {
            for (int i = 0; i < count; i++) {
                target.putInt(targetAt + 4 * i, source.getShort(sourceAt + 2 * i) << 16);
            }
            return 0;
        }
        if (from == DType.F32 && to == DType.BF16) {
            return narrowToBfloat16(source, sourceAt, target, targetAt, count);
        }
        return castFloats(source, sourceAt, target, targetAt, count);
    }

    private static long narrowToBfloat16(ByteBuffer source, int sourceAt, ByteBuffer target, int targetAt, int count) {
        long overflows = 0;
        for (int i = 0; i < count; i++) {
            int bits = source.getInt(sourceAt + 4 * i);
            int magnitude = bits & 0x7FFFFFFF;
            int rounded = bits + 0x7FFF + (bits >>> 16 & 1) >>> 16;
            if (magnitude >= 0x7F7F8000) {
                if (magnitude > 0x7F800000) {
                    rounded = bits >>> 16 | 0x40;
                } else if (magnitude < 0x7F800000) {
                    overflows++;
                }
            }
            target.putShort(targetAt + 2 * i, (short) rounded);
        }
        return overflows;
    }

    private long castFloats(ByteBuffer source, int sourceAt, ByteBuffer target, int targetAt, int count) {
        FloatDecoder decoder = FloatDecoder.of(from);
        long overflows = 0;
        int fromBytes = from.byteSize();
        int toBytes = to.byteSize();
        FloatFormat format = FloatFormat.of(to).orElse(null);
        for (int i = 0; i < count; i++) {
            double value = decoder.decode(source, sourceAt + i * fromBytes);
            int at = targetAt + i * toBytes;
            boolean tooLarge;
            if (format != null) {
                int bits = format.encode(value);
                tooLarge = format.isTooLarge(bits);
                putBits(target, at, bits, toBytes);
            } else if (to == DType.F32) {
                float narrow = (float) value;
                tooLarge = Float.isInfinite(narrow);
                target.putFloat(at, narrow);
            } else {
                tooLarge = false;
                target.putDouble(at, value);
            }
            overflows += tooLarge && Double.isFinite(value) ? 1 : 0;
        }
        return overflows;
    }

    /** Writes the value nearest to {@code value}; for types that are {@linkplain #isArithmetic arithmetic}. */
    static void put(DType dtype, ByteBuffer target, int at, double value) {
        if (dtype == DType.F64) {
            target.putDouble(at, value);
        } else if (dtype == DType.F32) {
            target.putFloat(at, (float) value);
        } else {
            putBits(target, at, FloatFormat.of(dtype).orElseThrow().encode(value), dtype.byteSize());
        }
    }

    private static void putBits(ByteBuffer target, int at, int bits, int bytes) {
        if (bytes == 2) {
            target.putShort(at, (short) bits);
        } else {
            target.put(at, (byte) bits);
        }
    }

    private void castIntegers(ByteBuffer source, int sourceAt, ByteBuffer target, int targetAt, int count)
            throws CheckpointException {
        int fromBytes = from.byteSize();
        int toBytes = to.byteSize();
        int unused = 64 - 8 * toBytes;
        boolean signed = from.kind() == DType.Kind.SIGNED;
        for (int i = 0; i < count; i++) {
            long value = integer(source, sourceAt + i * fromBytes, fromBytes, signed);
            long kept = signed ? value << unused >> unused : value << unused >>> unused;
            if (kept != value) {
                throw CheckpointException.of(
                                CheckpointException.Kind.REFUSED,
                                tensor,
                                "the element " + (signed ? Long.toString(value) : Long.toUnsignedString(value))
                                        + " does not fit into " + to.torchName())
                        .withHint("keep the element type of this tensor");
            }
            for (int b = 0; b < toBytes; b++) {
                target.put(targetAt + i * toBytes + b, (byte) (value >>> 8 * b));
            }
        }
    }

    private static long integer(ByteBuffer source, int at, int bytes, boolean signed) {
        long value = 0;
        for (int b = 0; b < bytes; b++) {
            value |= (source.get(at + b) & 0xFFL) << 8 * b;
        }
        int unused = 64 - 8 * bytes;
        return signed ? value << unused >> unused : value;
    }
}
