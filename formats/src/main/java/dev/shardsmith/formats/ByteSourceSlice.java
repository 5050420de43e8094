package dev.shardsmith.formats;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/** A part of another source; the bounds were checked by {@link ByteSource#slice}. */
record ByteSourceSlice(ByteSource whole, String name, long start, long size) implements ByteSource {
    @Override
    public void read(long position, ByteBuffer target) throws IOException {
        if (position < 0 || position > size || target.remaining() > size - position) {
            throw CheckpointException.truncated(
                    name, position, "needs " + target.remaining() + " bytes, but the data ends at byte " + size);
        }
        whole.read(start + position, target);
    }

    @Override
    public Optional<FileRange> inFile() {
        return whole.inFile().map(range -> new FileRange(range.file(), range.offset() + start, size));
    }

    @Override
    public ByteSource slice(String part, long offset, long length) throws CheckpointException {
        ByteSource slice = ByteSource.super.slice(part, offset, length);
        return slice instanceof ByteSourceSlice nested
                ? new ByteSourceSlice(whole, nested.name, start + nested.start, nested.size)
                : slice;
    }
}
