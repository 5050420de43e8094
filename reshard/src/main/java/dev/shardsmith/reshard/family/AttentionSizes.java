package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.Map;
import java.util.Optional;

/**
 * Heads of an attention layer.
 *
 * @param heads query heads
 * @param groups query groups, that is key and value heads
 * @param headDim channels of a head
 */
public record AttentionSizes(long heads, long groups, long headDim) {
    /** The sizes in Megatron's saved options. */
    public static Optional<AttentionSizes> of(MegatronArgs args) {
        long heads = args.integer("num_attention_heads", 0);
        long groups = args.flag("group_query_attention", false) ? args.integer("num_query_groups", heads) : heads;
        long hidden = args.integer("hidden_size", 0);
        long headDim = args.integer("kv_channels", heads > 0 ? hidden / heads : 0);
        return valid(new AttentionSizes(heads, groups, headDim));
    }

    /** The sizes in a Hugging Face config. */
    public static Optional<AttentionSizes> of(Map<String, Object> config) {
        long heads = number(config, "num_attention_heads", 0);
        long groups = number(config, "num_key_value_heads", heads);
        long hidden = number(config, "hidden_size", 0);
        long headDim = number(config, "head_dim", number(config, "attention_head_dim", heads > 0 ? hidden / heads : 0));
        return valid(new AttentionSizes(heads, groups, headDim));
    }

    private static Optional<AttentionSizes> valid(AttentionSizes sizes) {
        boolean usable = sizes.heads > 0 && sizes.groups > 0 && sizes.headDim > 0 && sizes.heads % sizes.groups == 0;
        return usable ? Optional.of(sizes) : Optional.empty();
    }

    /** A whole number of a parsed config, or another value where it is absent or no number. */
    public static long number(Map<String, Object> config, String key, long otherwise) {
        return config.get(key) instanceof Number number ? number.longValue() : otherwise;
    }

    /** Rows of the fused query, key and value projection. */
    public long fusedRows() {
        return (heads + 2 * groups) * headDim;
    }

    /** True if the first axis of a fused projection has these rows. */
    public boolean fits(Shape fused) {
        return fused.rank() > 0 && fused.size(0) == fusedRows();
    }
}
