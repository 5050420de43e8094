package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.util.Optional;

/** Finds the bytes of storages in a container. */
@FunctionalInterface
interface StorageResolver {
    /**
     * The storage that a persistent id speaks of.
     *
     * @param view the sixth element of the id in streams: None or a tuple; None in archives
     */
    TorchStorage resolve(StorageId id, PyValue view) throws IOException;

    /**
     * The checked elements of a persistent id.
     *
     * @param key name of the storage
     * @param elementType empty for untyped storages
     * @param elements number of elements, or of bytes where untyped
     * @param bytes length in bytes
     */
    record StorageId(String key, Optional<DType> elementType, long elements, long bytes, String location) {}
}
