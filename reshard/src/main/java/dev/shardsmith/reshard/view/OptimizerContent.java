package dev.shardsmith.reshard.view;

/**
 * The tensors of an optimizer's state, which no conversion of a Megatron model carries over.
 *
 * @param tensors how many there are, in all files
 * @param bytes their size together
 */
public record OptimizerContent(long tensors, long bytes) {
    /** No state. */
    public static final OptimizerContent NONE = new OptimizerContent(0, 0);

    /** This and one more tensor. */
    public OptimizerContent plus(long bytesOfTensor) {
        return new OptimizerContent(tensors + 1, Math.addExact(bytes, bytesOfTensor));
    }
}
