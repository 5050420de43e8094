package dev.shardsmith.reshard.placement;

/**
 * Bytes that training needs for some parameters.
 *
 * @param weights the weights as stored
 * @param gradients float32 gradients
 * @param master the float32 copy that the optimizer changes; none for weights that are float32 themselves
 * @param moments Adam's two float32 moments
 */
public record TrainingBytes(long weights, long gradients, long master, long moments) {
    static final TrainingBytes NONE = new TrainingBytes(0, 0, 0, 0);

    /** Bytes for parameters whose weights have so many bytes each. */
    static TrainingBytes of(long parameters, int weightBytes) {
        return new TrainingBytes(
                Math.multiplyExact(parameters, (long) weightBytes),
                Math.multiplyExact(parameters, 4L),
                weightBytes >= 4 ? 0 : Math.multiplyExact(parameters, 4L),
                Math.multiplyExact(parameters, 8L));
    }

    TrainingBytes plus(TrainingBytes other) {
        return new TrainingBytes(
                Math.addExact(weights, other.weights),
                Math.addExact(gradients, other.gradients),
                Math.addExact(master, other.master),
                Math.addExact(moments, other.moments));
    }

    /** All of it on every rank. */
    public long total() {
        return weights + gradients + optimizer();
    }

    /** What the optimizer keeps. */
    public long optimizer() {
        return master + moments;
    }

    /** What one rank keeps if a distributed optimizer spreads its state over so many. */
    public long totalDistributed(long replicas) {
        return weights + gradients + (optimizer() + replicas - 1) / Math.max(1, replicas);
    }
}
