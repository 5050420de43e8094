package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Something in a checkpoint that is no tensor and that no rule understands: kept as it is, or left out by name.
 *
 * @param name its name
 * @param path its place in the nested state dict: keys (strings) and positions in lists (ints)
 * @param stored its bytes, if it is stored by itself
 */
public record OpaqueItem(String name, List<PyValue> path, Optional<Stored> stored) {
    /** The bytes of an item, looked up when they are needed. */
    @FunctionalInterface
    public interface Stored {
        /** Finds the bytes. */
        ByteSource find() throws IOException;
    }
}
