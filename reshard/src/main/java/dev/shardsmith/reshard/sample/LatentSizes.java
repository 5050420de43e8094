package dev.shardsmith.reshard.sample;

/**
 * Sizes of the latent attention of a sample's {@code +} and {@code D} layers, in the terms of Megatron's options.
 *
 * @param queryRank rank of the queries ({@code q_lora_rank}), 0 for queries without a down projection
 * @param keyValueRank rank of keys and values ({@code kv_lora_rank})
 * @param headDim channels of a head that have no position ({@code qk_head_dim})
 * @param positionDim channels of a head with a position ({@code qk_pos_emb_head_dim})
 * @param valueDim channels of a head's values ({@code v_head_dim})
 * @param norms whether queries, keys and values are normed ({@code qk_layernorm})
 * @param fusedDown whether both down projections are one, divided among the ranks ({@code mla_down_proj_fusion})
 * @param indexHeads heads of a sparse layer's indexer
 * @param indexDim channels of such a head
 */
public record LatentSizes(
        long queryRank,
        long keyValueRank,
        long headDim,
        long positionDim,
        long valueDim,
        boolean norms,
        boolean fusedDown,
        long indexHeads,
        long indexDim) {

    /** Sizes in proportion to a head's channels. */
    static LatentSizes of(long hidden, long headDim) {
        long position = Math.max(1, headDim / 2);
        return new LatentSizes(hidden, Math.max(1, hidden / 2), headDim, position, headDim, true, false, 4, headDim);
    }
}
