package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;

/** The tensors of a torch_dist checkpoint that belong to the model, by their numbers; there may be a million of them. */
public interface StoredKeys {
    /** How many they are. */
    int size();

    /** A tensor's key, prefixes removed. */
    String key(int number);

    /** The keys taken apart. */
    NameTable names();

    /** A tensor's shape. */
    Shape shape(int number);

    /** True if there is a tensor of this key. */
    boolean contains(String key);
}
