package dev.shardsmith.formats;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.OptionalInt;

/** A source of which a container recorded the CRC-32; that of a part of it is not known. */
record ChecksummedByteSource(ByteSource bytes, int crc) implements ByteSource {
    @Override
    public OptionalInt recordedCrc() {
        return OptionalInt.of(crc);
    }

    @Override
    public String name() {
        return bytes.name();
    }

    @Override
    public long size() {
        return bytes.size();
    }

    @Override
    public void read(long position, ByteBuffer target) throws IOException {
        bytes.read(position, target);
    }

    @Override
    public Optional<FileRange> inFile() {
        return bytes.inFile();
    }

    @Override
    public ByteSource slice(String part, long offset, long length) throws CheckpointException {
        return bytes.slice(part, offset, length);
    }

    // Conversions compare them before they write anything, and Java takes milliseconds to link what it makes for a
    // record.
    @Override
    public boolean equals(Object other) {
        return other instanceof ChecksummedByteSource source && crc == source.crc && bytes.equals(source.bytes);
    }

    @Override
    public int hashCode() {
        return 31 * bytes.hashCode() + crc;
    }
}
