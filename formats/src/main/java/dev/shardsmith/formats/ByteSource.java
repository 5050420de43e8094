package dev.shardsmith.formats;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A named, readable range of bytes: a file, a part of one, or memory.
 *
 * <p>Safe for use by several threads. The name tells the whole trail ({@code model.pt!archive/data/0}), so that every
 * failure can print it.
 */
public interface ByteSource {
    /** What this is, for error messages. */
    String name();

    /** Number of bytes. */
    long size();

    /**
     * Fills {@code target} with the bytes from {@code position} on.
     *
     * @throws CheckpointException if the range is not inside the source, or the file was cut meanwhile
     */
    void read(long position, ByteBuffer target) throws IOException;

    /** Where the bytes lie in a file, if they do. */
    Optional<FileRange> inFile();

    /** The CRC-32 of all bytes, if the container that they lie in recorded one. */
    default OptionalInt recordedCrc() {
        return OptionalInt.empty();
    }

    /** The same bytes, of which a container recorded the CRC-32. */
    default ByteSource withRecordedCrc(int crc) {
        return new ChecksummedByteSource(this, crc);
    }

    /** A range of a file, in bytes. */
    record FileRange(Path file, long offset, long length) {}

    /** The part [offset, offset + length) of this source, named {@code name()!part}. */
    default ByteSource slice(String part, long offset, long length) throws CheckpointException {
        if (offset < 0 || length < 0 || offset > size() || length > size() - offset) {
            throw CheckpointException.truncated(
                    name(),
                    Math.max(0, Math.min(offset, size())),
                    part + " claims " + length + " bytes at byte " + offset + ", but " + name() + " is " + size()
                            + " bytes long");
        }
        return new ByteSourceSlice(this, this, part, offset, length);
    }

    /** Bytes [position, position + length) in an array; the caller has checked the length against a limit. */
    default byte[] readBytes(long position, int length) throws IOException {
        if (position < 0 || position > size() || length > size() - position) {
            throw CheckpointException.truncated(
                    name(), position, "needs " + length + " bytes, but the data ends at byte " + size());
        }
        byte[] bytes = new byte[length];
        read(position, ByteBuffer.wrap(bytes));
        return bytes;
    }

    /** A little-endian buffer over bytes [position, position + length). */
    default ByteBuffer readBuffer(long position, int length) throws IOException {
        return ByteBuffer.wrap(readBytes(position, length)).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** A source over an array; the array is not copied. */
    static ByteSource of(String name, byte[] bytes) {
        return new MemoryByteSource(name, bytes);
    }
}
