package dev.shardsmith.reshard.view;

/**
 * How much there is of an optimizer's state.
 *
 * @param tensors how many tensors are in the files with the model
 * @param files how many files of the state lie beside those
 * @param bytes the size of all of it
 */
public record OptimizerContent(long tensors, long files, long bytes) {
    /** No state. */
    public static final OptimizerContent NONE = new OptimizerContent(0, 0, 0);

    /** This and one more tensor. */
    public OptimizerContent plus(long bytesOfTensor) {
        return new OptimizerContent(tensors + 1, files, Math.addExact(bytes, bytesOfTensor));
    }

    /** This and one more file. */
    public OptimizerContent plusFile(long bytesOfFile) {
        return new OptimizerContent(tensors, files + 1, Math.addExact(bytes, bytesOfFile));
    }
}
