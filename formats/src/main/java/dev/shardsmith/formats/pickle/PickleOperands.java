package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;

/** Reads the arguments of operations that have no fixed size, within the limits. */
final class PickleOperands {
    private final PickleInput in;
    private final PickleMeter meter;
    private final PickleLimits limits;

    PickleOperands(PickleInput in, PickleMeter meter) {
        this.in = in;
        this.meter = meter;
        this.limits = meter.limits();
    }

    PyStr string(long length) throws IOException {
        checkString(length);
        return new PyStr(in.utf8((int) length));
    }

    PyBytes bytes(PyBytes.Kind kind, long length) throws IOException {
        checkString(length);
        return new PyBytes(kind, in.bytes((int) length));
    }

    private void checkString(long length) throws CheckpointException {
        in.checkLength(length);
        if (length > limits.stringBytes()) {
            throw meter.limit("a string of " + length + " bytes is longer than the limit of " + limits.stringBytes());
        }
        meter.grow(PickleMeter.NODE + length);
    }

    /** An integer of so many bytes, the least significant first. */
    PyInt integer(int length) throws IOException {
        if (length < 0) {
            throw meter.malformed("an integer of " + length + " bytes");
        }
        in.checkLength(length);
        if (length > limits.intBytes()) {
            throw meter.limit("an integer of " + length + " bytes is longer than the limit of " + limits.intBytes());
        }
        byte[] littleEndian = in.bytes(length);
        if (length <= Long.BYTES) {
            long value = length == 0 ? 0 : littleEndian[length - 1];
            for (int i = length - 2; i >= 0; i--) {
                value = value << 8 | littleEndian[i] & 0xff;
            }
            return meter.node(PyInt.of(value));
        }
        byte[] bigEndian = new byte[length];
        for (int i = 0; i < length; i++) {
            bigEndian[i] = littleEndian[length - 1 - i];
        }
        return meter.node(PyInt.of(new BigInteger(bigEndian)));
    }

    /** A line of GLOBAL or INST, which is UTF-8 in Python 3. */
    String name() throws IOException {
        long start = in.position();
        byte[] bytes = line().getBytes(StandardCharsets.ISO_8859_1);
        return PickleText.utf8(bytes, 0, bytes.length, meter.source(), start);
    }

    String line() throws IOException {
        String line = in.line(limits.lineBytes());
        meter.grow(line.length());
        return line;
    }

    PyValue intLine() throws IOException {
        return meter.node(parsed(PickleText.intLine(line()), "an integer"));
    }

    PyValue longLine() throws IOException {
        return meter.node(parsed(PickleText.longLine(line()), "an integer"));
    }

    PyValue floatLine() throws IOException {
        return meter.node(parsed(PickleText.floatLine(line()), "a number"));
    }

    PyValue quotedLine() throws IOException {
        return meter.node(new PyBytes(PyBytes.Kind.PYTHON2_STR, parsed(PickleText.quoted(line()), "a quoted string")));
    }

    PyValue escapedLine() throws IOException {
        return meter.node(new PyStr(parsed(PickleText.rawUnicodeEscape(line()), "an escaped string")));
    }

    private <T> T parsed(T value, String expected) throws CheckpointException {
        if (value == null) {
            throw meter.malformed("a text operation does not hold " + expected);
        }
        return value;
    }

    /** The number of a memo entry, as text. */
    long memoIndex() throws IOException {
        PyValue index = PickleText.longLine(line());
        if (!(index instanceof PyInt number) || number.asLong().orElse(-1) < 0) {
            throw meter.malformed("the number of a memo entry is no number");
        }
        return number.asLong().getAsLong();
    }
}
