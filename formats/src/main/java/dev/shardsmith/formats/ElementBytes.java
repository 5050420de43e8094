package dev.shardsmith.formats;

/** Changes of elements in a block of bytes that leave their number as it is. */
final class ElementBytes {
    private ElementBytes() {}

    /** Reverses the bytes of each unit. */
    static void reverse(byte[] block, int length, int unit) {
        for (int start = 0; start + unit <= length; start += unit) {
            for (int low = start, high = start + unit - 1; low < high; low++, high--) {
                byte kept = block[low];
                block[low] = block[high];
                block[high] = kept;
            }
        }
    }

    /** Applies conjugation and negation to little-endian elements; both change only signs. */
    static void changeSigns(byte[] block, int length, DType dtype, boolean conjugate, boolean negative) {
        int unit = dtype.swapUnit();
        switch (dtype.kind()) {
            case COMPLEX -> {
                boolean imaginary = conjugate != negative;
                for (int at = 0; at + 2 * unit <= length; at += 2 * unit) {
                    if (negative) {
                        block[at + unit - 1] ^= (byte) 0x80;
                    }
                    if (imaginary) {
                        block[at + 2 * unit - 1] ^= (byte) 0x80;
                    }
                }
            }
            case FLOAT -> {
                for (int at = unit - 1; negative && at < length; at += unit) {
                    block[at] ^= (byte) 0x80;
                }
            }
            case SIGNED, UNSIGNED -> {
                for (int at = 0; negative && at + unit <= length; at += unit) {
                    negate(block, at, unit);
                }
            }
            case BOOL, QUANTIZED, BITS, PACKED -> {
                // PyTorch has no negative views of these.
            }
        }
    }

    private static void negate(byte[] block, int at, int unit) {
        int carry = 1;
        for (int i = at; i < at + unit; i++) {
            int value = (~block[i] & 0xff) + carry;
            block[i] = (byte) value;
            carry = value >> 8;
        }
    }
}
