package dev.shardsmith.reshard.placement;

/**
 * What one model-parallel rank holds; data-parallel ranks hold the same.
 *
 * @param tensor tensor-parallel rank
 * @param pipeline pipeline rank
 * @param expert expert-parallel rank
 * @param layers number of decoder layers
 * @param denseParameters elements outside of experts
 * @param expertParameters elements of the rank's experts
 * @param dense bytes for the former
 * @param experts bytes for the latter
 * @param total bytes if every rank keeps the whole optimizer state
 * @param totalDistributed bytes with the distributed optimizer
 */
public record RankPlacement(
        int tensor,
        int pipeline,
        int expert,
        int layers,
        long denseParameters,
        long expertParameters,
        TrainingBytes dense,
        TrainingBytes experts,
        long total,
        long totalDistributed) {
    /** All elements. */
    public long parameters() {
        return denseParameters + expertParameters;
    }

    /** Bytes of weights, gradients and optimizer, dense and experts together. */
    public TrainingBytes bytes() {
        return dense.plus(experts);
    }
}
