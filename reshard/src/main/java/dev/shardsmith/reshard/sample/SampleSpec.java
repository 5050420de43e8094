package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.DType;

/**
 * The sizes of a sample model, in the terms of Megatron's options.
 *
 * @param pattern hybrid layer pattern; stage boundaries allowed
 * @param hidden hidden size
 * @param vocabulary stored vocabulary rows
 * @param heads attention heads
 * @param queryGroups query groups
 * @param headDim channels of an attention head
 * @param mambaHeads Mamba heads
 * @param mambaHeadDim channels of a Mamba head
 * @param mambaGroups Mamba groups
 * @param mambaState Mamba state size
 * @param ffn width of an MLP
 * @param gated whether MLPs are gated
 * @param bias whether linear layers have biases
 * @param tied whether embedding and output layer share their weight
 * @param fusedNorms whether norms lie in the following linear layer, as with Transformer Engine
 * @param newConvNames whether the convolution is called {@code conv1d_weight}
 * @param experts experts of a mixture layer
 * @param expertFfn width of an expert
 * @param sharedFfn width of the shared expert, 0 for none
 * @param groupedExperts whether experts are named as in a grouped product
 * @param dtype element type of weights
 * @param seed seed of the values
 * @param kind whether layers are of one part or of two
 * @param latent sizes of latent attention
 * @param delta sizes of gated delta nets
 */
public record SampleSpec(
        String pattern,
        long hidden,
        long vocabulary,
        long heads,
        long queryGroups,
        long headDim,
        long mambaHeads,
        long mambaHeadDim,
        long mambaGroups,
        long mambaState,
        long ffn,
        boolean gated,
        boolean bias,
        boolean tied,
        boolean fusedNorms,
        boolean newConvNames,
        long experts,
        long expertFfn,
        long sharedFfn,
        boolean groupedExperts,
        DType dtype,
        long seed,
        Kind kind,
        LatentSizes latent,
        DeltaSizes delta) {

    /** What a layer of the model consists of. */
    public enum Kind {
        /** One part a layer, as the pattern says. */
        HYBRID,
        /** Attention and MLP or experts in one layer: the pattern's {@code *} and {@code -} or {@code E} in pairs. */
        TRANSFORMER
    }

    /** A hybrid model whose latent attention and delta nets have the usual proportions. */
    public SampleSpec(
            String pattern,
            long hidden,
            long vocabulary,
            long heads,
            long queryGroups,
            long headDim,
            long mambaHeads,
            long mambaHeadDim,
            long mambaGroups,
            long mambaState,
            long ffn,
            boolean gated,
            boolean bias,
            boolean tied,
            boolean fusedNorms,
            boolean newConvNames,
            long experts,
            long expertFfn,
            long sharedFfn,
            boolean groupedExperts,
            DType dtype,
            long seed) {
        this(
                pattern,
                hidden,
                vocabulary,
                heads,
                queryGroups,
                headDim,
                mambaHeads,
                mambaHeadDim,
                mambaGroups,
                mambaState,
                ffn,
                gated,
                bias,
                tied,
                fusedNorms,
                newConvNames,
                experts,
                expertFfn,
                sharedFfn,
                groupedExperts,
                dtype,
                seed,
                Kind.HYBRID,
                LatentSizes.of(hidden, headDim),
                DeltaSizes.of(heads, headDim));
    }

    /** The same sizes for a model of another kind. */
    public SampleSpec as(Kind wanted, LatentSizes latentSizes, DeltaSizes deltaSizes) {
        return new SampleSpec(
                pattern,
                hidden,
                vocabulary,
                heads,
                queryGroups,
                headDim,
                mambaHeads,
                mambaHeadDim,
                mambaGroups,
                mambaState,
                ffn,
                gated,
                bias,
                tied,
                fusedNorms,
                newConvNames,
                experts,
                expertFfn,
                sharedFfn,
                groupedExperts,
                dtype,
                seed,
                wanted,
                latentSizes,
                deltaSizes);
    }

    /** A model of the given pattern and hidden size with the proportions of Megatron's 8B hybrid. */
    public static SampleSpec of(String pattern, long hidden, DType dtype, long seed) {
        long headDim = Math.min(128, hidden);
        long mambaHeadDim = Math.min(64, hidden);
        long heads = Math.max(1, hidden / headDim);
        long mambaHeads = Math.max(1, 2 * hidden / mambaHeadDim);
        return new SampleSpec(
                pattern,
                hidden,
                1024,
                heads,
                Math.min(8, heads),
                headDim,
                mambaHeads,
                mambaHeadDim,
                Math.min(8, mambaHeads),
                Math.min(128, hidden),
                4 * hidden,
                false,
                false,
                false,
                true,
                true,
                8,
                hidden,
                0,
                true,
                dtype,
                seed);
    }
}
