package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Loads bfloat16 and IEEE half values that are compared with values of their own type.
 *
 * <p>They are read as 32-bit words of two, which are taken apart with whole-array shifts: the lanes are those at even
 * places, then those at odd ones, then a last one without partner.
 */
final class HalfFloats implements FloatLoader {
    private static final int MAGNITUDE = 0x7fff0000;

    private final boolean brain;
    private final int elementBytes;
    private final int largest;
    private final int[] words = new int[ElementDecoder.CHUNK / 2];

    /** A loader of BF16, F16 or C32. */
    HalfFloats(DType dtype) {
        this.brain = dtype == DType.BF16;
        this.elementBytes = dtype.byteSize();
        this.largest = brain ? 0x7f7f0000 : 0x7bff0000;
    }

    static boolean handles(DType dtype) {
        return dtype == DType.BF16 || dtype == DType.F16 || dtype == DType.C32;
    }

    @Override
    public boolean load(ByteBuffer block, int first, int count, FloatChunk chunk) {
        ByteBuffer view = block.duplicate();
        view.clear().position(first * elementBytes);
        ByteBuffer values = view.slice().order(ByteOrder.LITTLE_ENDIAN);
        int half = count / 2;
        values.asIntBuffer().get(words, 0, half);
        int beyond = lower(words, half, largest, chunk.bits, chunk.numbers)
                | upper(words, half, largest, chunk.bits, chunk.numbers);
        if (count % 2 != 0) {
            int bits = values.getShort((count - 1) * Short.BYTES) << 16;
            chunk.bits[count - 1] = bits;
            chunk.numbers[count - 1] = number(bits);
            beyond |= largest - (bits & MAGNITUDE);
        }
        if (beyond < 0) {
            return false;
        }
        if (brain) {
            chunk.setValues(chunk.bits, count);
        } else {
            widen(chunk, count);
        }
        return true;
    }

    /** The first values of the words, to the first lanes; negative if a magnitude is larger than {@code largest}. */
    private static int lower(int[] words, int count, int largest, int[] bits, int[] numbers) {
        int beyond = 0;
        for (int i = 0; i < count; i++) {
            int value = words[i] << 16;
            bits[i] = value;
            numbers[i] = number(value);
            beyond |= largest - (value & MAGNITUDE);
        }
        return beyond;
    }

    /** As {@link #lower}, of the second values, to the lanes after those. */
    private static int upper(int[] words, int count, int largest, int[] bits, int[] numbers) {
        int beyond = 0;
        for (int i = 0; i < count; i++) {
            int value = words[i] & 0xffff0000;
            bits[count + i] = value;
            numbers[count + i] = number(value);
            beyond |= largest - (value & MAGNITUDE);
        }
        return beyond;
    }

    private static int number(int bits) {
        int sign = bits >> 31;
        return ((bits & MAGNITUDE) >> 16 ^ sign) - sign;
    }

    /** The bits of a half moved to where a float has them; the multiplication moves the exponent, of subnormals too. */
    private static void widen(FloatChunk chunk, int count) {
        int[] wide = new int[count];
        for (int i = 0; i < count; i++) {
            wide[i] = (chunk.bits[i] & MAGNITUDE) >> 3 | chunk.bits[i] & 0x80000000;
        }
        chunk.setValues(wide, count);
        for (int i = 0; i < count; i++) {
            chunk.values[i] *= 0x1p112f;
        }
    }

    @Override
    public int lane(int position, int count) {
        return count % 2 != 0 && position == count - 1 ? position : (position & 1) * (count / 2) + position / 2;
    }
}
