package dev.shardsmith.reshard.family;

/**
 * What a suffix of a torch_dist key stands for.
 *
 * @param name the logical tensor's suffix
 * @param part which part of it, if it is not all; else empty
 * @param rule the row of the table that has the part, if one has
 */
record DistTarget(String name, String part, ParameterRule rule) {
    /** All of a logical tensor. */
    static DistTarget whole(String name) {
        return new DistTarget(name, "", null);
    }
}
