package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.ByteSource;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * A place in a file that is to be written; target pieces are views of it. It can be written by the executor, never read.
 *
 * @param file the path of the {@link dev.shardsmith.formats.FileImage}
 * @param key the key of the slot in that image
 * @param size length in bytes
 */
public record TargetSlot(String file, String key, long size) implements ByteSource {
    @Override
    public String name() {
        return file + "!" + key;
    }

    @Override
    public void read(long position, ByteBuffer target) {
        throw new IllegalStateException("a target slot cannot be read: " + name());
    }

    @Override
    public Optional<FileRange> inFile() {
        return Optional.empty();
    }

    // Conversions compare these before they write anything, and Java takes milliseconds to link what it makes for a
    // record.
    @Override
    public boolean equals(Object other) {
        return other instanceof TargetSlot slot && size == slot.size && key.equals(slot.key) && file.equals(slot.file);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * file.hashCode() + key.hashCode()) + Long.hashCode(size);
    }
}
