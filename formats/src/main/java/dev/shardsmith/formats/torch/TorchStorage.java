package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * The bytes that one or more tensors look at.
 *
 * @param key the name under which the pickle refers to it
 * @param elementType type of its elements; empty for an untyped storage, which counts bytes
 * @param elements number of elements, or of bytes where untyped
 * @param location the device that it was saved from: {@code cpu}, {@code cuda:0}
 * @param data where the bytes lie; its size is that of the storage
 * @param order byte order of the elements
 */
public record TorchStorage(
        String key, Optional<DType> elementType, long elements, String location, ByteSource data, ByteOrder order) {
    /** Length in bytes. */
    public long bytes() {
        return data.size();
    }
}
