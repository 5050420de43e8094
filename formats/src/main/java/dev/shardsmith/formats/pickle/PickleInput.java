package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;

/** The bytes of a pickle through a window in memory; every number is checked against what is left before it is used. */
final class PickleInput {
    /** Larger than every fixed-size argument and the default line limit; small enough for thousands of tiny pickles. */
    static final int WINDOW = 1 << 16;

    /** Of an operation's argument: one byte says how many follow. */
    static final byte COUNTED = -1;

    /** Of an operation that fetches an entry of the memo: one byte is its number. */
    static final byte SHORT_FETCH = -2;

    /** Of an operation that fetches an entry of the memo: four bytes are its number. */
    static final byte LONG_FETCH = -3;

    /** Of an operation's argument: four bytes say how many follow. */
    static final byte LONG_COUNTED = -4;

    private final ByteSource source;
    private final long end;
    private byte[] window;
    private long base;
    private int at;
    private int limit;

    PickleInput(ByteSource source, long start, long end) {
        this.source = source;
        this.base = start;
        this.end = end;
        this.window = new byte[(int) Math.min(WINDOW, Math.max(0, end - start))];
    }

    long position() {
        return base + at;
    }

    long remaining() {
        return end - base - at;
    }

    int u8() throws IOException {
        if (at == limit) {
            fill(1);
        }
        return window[at++] & 0xff;
    }

    /**
     * Passes over operations that a table gives the size of their argument for, and gives the first other one,
     * or STOP at the end.
     *
     * @param arguments bytes of the argument by operation; {@link #COUNTED}, {@link #LONG_COUNTED}, {@link #SHORT_FETCH} or {@link
     *     #LONG_FETCH}; less for others
     * @param fetched where the numbers of entries of the memo are noted that are fetched
     */
    int passOver(byte[] arguments, BitSet fetched) throws IOException {
        byte[] bytes = window;
        // The operation, its argument and the next one's first byte lie in the window: what is near its end is left to
        // u8().
        int last = limit - 2;
        int next = at;
        while (next < last) {
            int size = arguments[bytes[next] & 0xff];
            if (size < 0) {
                if (size == COUNTED) {
                    size = 1 + (bytes[next + 1] & 0xff);
                } else if (size == SHORT_FETCH) {
                    fetched.set(bytes[next + 1] & 0xff);
                    size = 1;
                } else if (size == LONG_FETCH && next + 4 < limit) {
                    long index = word(next + 1) & 0xffff_ffffL;
                    if (PickleReferences.mayDrop(index)) {
                        fetched.set((int) index);
                    }
                    size = 4;
                } else if (size == LONG_COUNTED && next + 4 < limit) {
                    int count = word(next + 1);
                    size = count < 0 || count > limit ? limit : 4 + count;
                } else {
                    break;
                }
            }
            if (size > limit - next - 1) {
                break;
            }
            next += 1 + size;
        }
        at = next;
        return remaining() == 0 ? Opcode.STOP : u8();
    }

    int u16() throws IOException {
        need(2);
        int value = window[at] & 0xff | (window[at + 1] & 0xff) << 8;
        at += 2;
        return value;
    }

    int i32() throws IOException {
        need(4);
        at += 4;
        return word(at - 4);
    }

    private int word(int from) {
        return window[from] & 0xff
                | (window[from + 1] & 0xff) << 8
                | (window[from + 2] & 0xff) << 16
                | window[from + 3] << 24;
    }

    long u32() throws IOException {
        return i32() & 0xffff_ffffL;
    }

    long i64() throws IOException {
        long low = u32();
        return low | (long) i32() << 32;
    }

    /** A 64-bit number, most significant byte first. */
    long bigEndian64() throws IOException {
        return Long.reverseBytes(i64());
    }

    /** Passes over {@code length} bytes. */
    void skip(long length) throws IOException {
        checkLength(length);
        if (length <= limit - at) {
            at += (int) length;
        } else {
            base = position() + length;
            at = 0;
            limit = 0;
        }
    }

    /** A copy of the next {@code length} bytes; the caller has checked the length with {@link #checkLength}. */
    byte[] bytes(int length) throws IOException {
        byte[] bytes = new byte[length];
        int inWindow = Math.min(length, limit - at);
        System.arraycopy(window, at, bytes, 0, inWindow);
        at += inWindow;
        if (inWindow < length) {
            source.read(position(), ByteBuffer.wrap(bytes, inWindow, length - inWindow));
            base = position() + length - inWindow;
            at = 0;
            limit = 0;
        }
        return bytes;
    }

    /** A string of {@code length} bytes; the caller has checked the length with {@link #checkLength}. */
    String utf8(int length) throws IOException {
        long start = position();
        if (length > WINDOW) {
            byte[] bytes = bytes(length);
            return PickleText.utf8(bytes, 0, length, source.name(), start);
        }
        need(length);
        String text = PickleText.utf8(window, at, length, source.name(), start);
        at += length;
        return text;
    }

    /**
     * Copies the next {@code length} bytes and passes over them if all are ASCII; the caller has checked the length with
     * {@link #checkLength}, and it is at most {@link #WINDOW}.
     */
    boolean isAscii(int length, byte[] into, int from) throws IOException {
        need(length);
        int signs = 0;
        for (int i = 0; i < length; i++) {
            byte letter = window[at + i];
            into[from + i] = letter;
            signs |= letter;
        }
        if (signs < 0) {
            return false;
        }
        at += length;
        return true;
    }

    /** The bytes up to a line feed as Latin-1 characters, without the line feed. */
    String line(int maxBytes) throws IOException {
        StringBuilder longLine = null;
        long start = position();
        while (true) {
            int from = at;
            while (at < limit && window[at] != '\n') {
                at++;
            }
            if (position() - start > maxBytes) {
                throw CheckpointException.malformed(
                        source.name(), start, "a line of a text operation is longer than " + maxBytes + " bytes");
            }
            String part = new String(window, from, at - from, StandardCharsets.ISO_8859_1);
            if (at < limit) {
                at++;
                return longLine == null ? part : longLine.append(part).toString();
            }
            longLine = (longLine == null ? new StringBuilder() : longLine).append(part);
            fill(1);
        }
    }

    /** Fails unless {@code length} bytes are left. */
    void checkLength(long length) throws CheckpointException {
        if (length < 0 || length > remaining()) {
            throw CheckpointException.truncated(
                    source.name(),
                    position(),
                    "the pickle needs " + (length < 0 ? Long.toUnsignedString(length) : Long.toString(length))
                            + " bytes here, but only " + remaining() + " are left");
        }
    }

    private void need(int count) throws IOException {
        if (limit - at < count) {
            fill(count);
        }
    }

    private void fill(int count) throws IOException {
        checkLength(count);
        int kept = limit - at;
        System.arraycopy(window, at, window, 0, kept);
        base += at;
        at = 0;
        int more = (int) Math.min(window.length - kept, end - base - kept);
        source.read(base + kept, ByteBuffer.wrap(window, kept, more));
        limit = kept + more;
    }
}
