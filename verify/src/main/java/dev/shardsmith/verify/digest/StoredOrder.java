package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Puts elements as stored into the order and sign that they stand for: little-endian, lazy flags applied. */
final class StoredOrder {
    private StoredOrder() {}

    /** True if the stored bytes are the logical ones. */
    static boolean isPlain(StoredTensor view) {
        return !view.conjugate()
                && !view.negative()
                && (view.order() == ByteOrder.LITTLE_ENDIAN || view.dtype().swapUnit() == 1);
    }

    /** Changes {@code elements} elements at byte {@code at}, which were copied from {@code view}, in place. */
    static void toLittleEndian(StoredTensor view, ByteBuffer target, int at, long elements) {
        if (isPlain(view)) {
            return;
        }
        int unit = view.dtype().swapUnit();
        int units = Math.toIntExact(view.dtype().bytes(elements)) / unit;
        for (int i = 0; i < units; i++) {
            int place = at + i * unit;
            if (view.order() == ByteOrder.BIG_ENDIAN) {
                reverse(target, place, unit);
            }
            boolean imaginary = view.dtype().kind() == DType.Kind.COMPLEX && i % 2 == 1;
            if (view.negative() != (view.conjugate() && imaginary)) {
                negate(view.dtype(), target, place, unit);
            }
        }
    }

    private static void reverse(ByteBuffer target, int at, int unit) {
        for (int i = 0; i < unit / 2; i++) {
            byte low = target.get(at + i);
            target.put(at + i, target.get(at + unit - 1 - i));
            target.put(at + unit - 1 - i, low);
        }
    }

    private static void negate(DType dtype, ByteBuffer target, int at, int unit) {
        switch (dtype.kind()) {
            case FLOAT, COMPLEX, PACKED -> target.put(at + unit - 1, (byte) (target.get(at + unit - 1) ^ 0x80));
            case SIGNED, UNSIGNED, BOOL, QUANTIZED, BITS -> {
                int carry = 1;
                for (int i = 0; i < unit; i++) {
                    carry += ~target.get(at + i) & 0xff;
                    target.put(at + i, (byte) carry);
                    carry >>= 8;
                }
            }
        }
    }
}
