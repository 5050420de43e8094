package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The bytes of a pickle being written, with the encodings of its scalars. */
final class PickleOutput {
    private static final int LARGEST = Integer.MAX_VALUE - 8;

    private byte[] bytes = new byte[256];
    private int size;

    byte[] toBytes() {
        return Arrays.copyOf(bytes, size);
    }

    void op(int opcode) throws CheckpointException {
        reserve(1);
        bytes[size++] = (byte) opcode;
    }

    void int8(int value) throws CheckpointException {
        op(value);
    }

    void int32(int value) throws CheckpointException {
        reserve(4);
        bytes[size++] = (byte) value;
        bytes[size++] = (byte) (value >> 8);
        bytes[size++] = (byte) (value >> 16);
        bytes[size++] = (byte) (value >> 24);
    }

    /** An operation whose argument is a memo number: {@code small} with one byte, {@code large} with four. */
    void memo(int small, int large, int index) throws CheckpointException {
        if (index < 0x100) {
            op(small);
            int8(index);
        } else {
            op(large);
            int32(index);
        }
    }

    void integer(PyInt value) throws CheckpointException {
        long number = value.asLong().orElse(Long.MIN_VALUE);
        if (number >= 0 && number < 0x100) {
            op(Opcode.BININT1);
            int8((int) number);
        } else if (number >= 0 && number < 0x10000) {
            op(Opcode.BININT2);
            int8((int) number);
            int8((int) number >> 8);
        } else if (number == (int) number) {
            op(Opcode.BININT);
            int32((int) number);
        } else {
            big(value.toBigInteger());
        }
    }

    private void big(BigInteger value) throws CheckpointException {
        byte[] bigEndian = value.toByteArray();
        if (bigEndian.length < 0x100) {
            op(Opcode.LONG1);
            int8(bigEndian.length);
        } else {
            op(Opcode.LONG4);
            int32(bigEndian.length);
        }
        reserve(bigEndian.length);
        for (int i = bigEndian.length - 1; i >= 0; i--) {
            bytes[size++] = bigEndian[i];
        }
    }

    void real(double value) throws CheckpointException {
        long bits = Double.doubleToRawLongBits(value);
        op(Opcode.BINFLOAT);
        int32(Integer.reverseBytes((int) (bits >>> 32)));
        int32(Integer.reverseBytes((int) bits));
    }

    void string(String text) throws CheckpointException {
        byte[] utf8 = PickleText.toUtf8(text);
        op(Opcode.BINUNICODE);
        int32(utf8.length);
        raw(utf8);
    }

    void python2String(byte[] text) throws CheckpointException {
        if (text.length < 0x100) {
            op(Opcode.SHORT_BINSTRING);
            int8(text.length);
        } else {
            op(Opcode.BINSTRING);
            int32(text.length);
        }
        raw(text);
    }

    void global(String module, String name) throws CheckpointException {
        if (module.indexOf('\n') >= 0 || name.indexOf('\n') >= 0) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    "",
                    "a class name with a line feed cannot be written to protocol 2");
        }
        op(Opcode.GLOBAL);
        raw((module + "\n" + name + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private void raw(byte[] data) throws CheckpointException {
        reserve(data.length);
        System.arraycopy(data, 0, bytes, size, data.length);
        size += data.length;
    }

    private void reserve(int more) throws CheckpointException {
        if (more > bytes.length - size) {
            if (more > LARGEST - size) {
                throw CheckpointException.of(
                        CheckpointException.Kind.LIMIT, "", "the pickle to be written would be longer than 2 GiB");
            }
            bytes = Arrays.copyOf(bytes, (int) Math.min(LARGEST, Math.max((long) size + more, bytes.length * 2L)));
        }
    }
}
