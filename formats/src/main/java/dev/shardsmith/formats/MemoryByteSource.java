package dev.shardsmith.formats;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Bytes in memory, for small or decoded items. */
final class MemoryByteSource implements ByteSource {
    private final String name;
    private final byte[] bytes;

    MemoryByteSource(String name, byte[] bytes) {
        this.name = name;
        this.bytes = bytes;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public long size() {
        return bytes.length;
    }

    @Override
    public void read(long position, ByteBuffer target) throws IOException {
        if (position < 0 || position > bytes.length || target.remaining() > bytes.length - position) {
            throw CheckpointException.truncated(
                    name,
                    position,
                    "needs " + target.remaining() + " bytes, but the data ends at byte " + bytes.length);
        }
        target.put(bytes, (int) position, target.remaining());
    }

    @Override
    public Optional<FileRange> inFile() {
        return Optional.empty();
    }
}
