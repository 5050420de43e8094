package dev.shardsmith.formats.pickle;

/** Python {@code bytes}, {@code bytearray}, or a byte string of Python 2; compares by identity. */
public final class PyBytes implements PyValue {
    /** Which of Python's byte types it is. */
    public enum Kind {
        BYTES,
        BYTEARRAY,
        /** A {@code str} of Python 2: opcodes STRING, BINSTRING, SHORT_BINSTRING. */
        PYTHON2_STR
    }

    private final Kind kind;
    private final byte[] bytes;

    /** A node over the array; it is not copied. */
    public PyBytes(Kind kind, byte[] bytes) {
        this.kind = kind;
        this.bytes = bytes;
    }

    /** Which of Python's byte types it is. */
    public Kind kind() {
        return kind;
    }

    /** The bytes themselves, not a copy. */
    public byte[] bytes() {
        return bytes;
    }
}
