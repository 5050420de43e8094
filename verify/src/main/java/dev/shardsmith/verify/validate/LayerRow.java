package dev.shardsmith.verify.validate;

/**
 * What the weights say about one layer.
 *
 * @param layer global number
 * @param pp pipeline rank that holds it; -1 where the layout has no stages
 * @param vp virtual stage of that rank
 * @param expected the symbol that the pattern has here; empty without a pattern
 * @param found the symbol that the keys mean; {@code ?} if they mean none, several symbols if they mean several
 * @param key the key that decides
 * @param tensors number of tensors
 * @param parameters number of elements
 */
public record LayerRow(
        int layer, int pp, int vp, String expected, String found, String key, int tensors, long parameters) {}
