package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Brings elements as stored to the plain form: little-endian, and without lazy conjugation or negation. */
final class ElementBytes {
    private ElementBytes() {}

    /** True if the elements are stored in the plain form. */
    static boolean plain(StoredTensor view) {
        boolean ordered =
                view.order() == ByteOrder.LITTLE_ENDIAN || view.dtype().swapUnit() == 1;
        return ordered && !view.conjugate() && !view.negative();
    }

    /**
     * Settles {@code count} elements at {@code at} of a buffer in place.
     *
     * @throws CheckpointException if elements of the type cannot be negated
     */
    static void settle(String tensor, StoredTensor view, ByteBuffer buffer, int at, int count)
            throws CheckpointException {
        DType dtype = view.dtype();
        if (view.order() == ByteOrder.BIG_ENDIAN) {
            swap(buffer, at, count * dtype.byteSize(), dtype.swapUnit());
        }
        if (view.conjugate() && dtype.kind() == DType.Kind.COMPLEX) {
            int part = dtype.swapUnit();
            for (int i = 0; i < count; i++) {
                flipSign(buffer, at + (2 * i + 1) * part, part);
            }
        }
        if (view.negative()) {
            negate(tensor, dtype, buffer, at, count);
        }
    }

    private static void swap(ByteBuffer buffer, int at, int length, int unit) {
        for (int first = at; first < at + length; first += unit) {
            for (int low = first, high = first + unit - 1; low < high; low++, high--) {
                byte moved = buffer.get(low);
                buffer.put(low, buffer.get(high));
                buffer.put(high, moved);
            }
        }
    }

    private static void negate(String tensor, DType dtype, ByteBuffer buffer, int at, int count)
            throws CheckpointException {
        switch (dtype) {
            case F64, F32, F16, BF16, F8_E4M3FN, F8_E5M2, C32, C64, C128 -> {
                int part = dtype.swapUnit();
                for (int i = at; i < at + count * dtype.byteSize(); i += part) {
                    flipSign(buffer, i, part);
                }
            }
            case F8_E4M3FNUZ, F8_E5M2FNUZ -> {
                for (int i = at; i < at + count; i++) {
                    // These have one zero, and the pattern of a negative zero is NaN.
                    if ((buffer.get(i) & 0x7F) != 0) {
                        flipSign(buffer, i, 1);
                    }
                }
            }
            case I64, I32, I16, I8, U64, U32, U16, U8 -> {
                for (int i = at; i < at + count * dtype.byteSize(); i += dtype.byteSize()) {
                    negateInteger(buffer, i, dtype.byteSize());
                }
            }
            case F8_E8M0FNU,
                    F4_E2M1FN_X2,
                    F6_E2M3,
                    F6_E3M2,
                    BOOL,
                    QINT8,
                    QUINT8,
                    QINT32,
                    QUINT4X2,
                    QUINT2X4,
                    BITS8,
                    BITS16,
                    BITS1X8,
                    BITS2X4,
                    BITS4X2 ->
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        tensor,
                        "it is stored with the other sign, but " + dtype.torchName() + " cannot be negated");
        }
    }

    private static void negateInteger(ByteBuffer buffer, int at, int bytes) {
        switch (bytes) {
            case 1 -> buffer.put(at, (byte) -buffer.get(at));
            case 2 -> buffer.putShort(at, (short) -buffer.getShort(at));
            case 4 -> buffer.putInt(at, -buffer.getInt(at));
            case 8 -> buffer.putLong(at, -buffer.getLong(at));
            default -> throw new IllegalArgumentException(bytes + " bytes");
        }
    }

    /** The sign is the highest bit of the last byte of a little-endian number. */
    private static void flipSign(ByteBuffer buffer, int at, int bytes) {
        buffer.put(at + bytes - 1, (byte) (buffer.get(at + bytes - 1) ^ 0x80));
    }
}
