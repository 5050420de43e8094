package dev.shardsmith.formats;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * A part of another source; the bounds were checked by {@link ByteSource#slice}.
 *
 * @param whole what it is a part of
 * @param trail what the name is made of: that of the part around it and, if it is not empty, {@code part}. Names are rarely
 *     asked for, and a file may have a hundred thousand parts
 * @param part the last step of the name
 */
record ByteSourceSlice(ByteSource whole, ByteSource trail, String part, long start, long size) implements ByteSource {
    @Override
    public String name() {
        return part.isEmpty() ? trail.name() : trail.name() + "!" + part;
    }

    @Override
    public void read(long position, ByteBuffer target) throws IOException {
        if (position < 0 || position > size || target.remaining() > size - position) {
            throw CheckpointException.truncated(
                    name(), position, "needs " + target.remaining() + " bytes, but the data ends at byte " + size);
        }
        whole.read(start + position, target);
    }

    @Override
    public Optional<FileRange> inFile() {
        return whole.inFile().map(range -> new FileRange(range.file(), range.offset() + start, size));
    }

    @Override
    public ByteSource slice(String step, long offset, long length) throws CheckpointException {
        ByteSource slice = ByteSource.super.slice(step, offset, length);
        return slice instanceof ByteSourceSlice nested
                ? new ByteSourceSlice(whole, this, step, start + nested.start, nested.size)
                : slice;
    }

    // Conversions compare these before they write anything, and Java takes milliseconds to link what it makes for a
    // record.
    @Override
    public boolean equals(Object other) {
        return other instanceof ByteSourceSlice slice
                && start == slice.start
                && size == slice.size
                && part.equals(slice.part)
                && whole.equals(slice.whole)
                && trail.equals(slice.trail);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * (31 * whole.hashCode() + part.hashCode()) + Long.hashCode(start)) + Long.hashCode(size);
    }
}
