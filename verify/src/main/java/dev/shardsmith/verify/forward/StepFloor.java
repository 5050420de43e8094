package dev.shardsmith.verify.forward;

import java.util.List;
import java.util.Optional;

/**
 * The least time step of a library that the training framework does not know.
 *
 * <p>Transformers raises shorter steps of NemotronH and Zamba2 to {@code time_step_min}; Megatron-LM, which trains such models, has no
 * bounds, nor have the kernels of older releases. Weights are compared without it, predictions are made with it.
 */
public final class StepFloor {
    private StepFloor() {}

    /** The model as its library runs it. */
    public static LayeredModel applied(LayeredModel model) {
        if (model.stepFloor() == 0) {
            return model;
        }
        TimeStep floored = TimeStep.limited(model.stepFloor(), Double.POSITIVE_INFINITY);
        List<Block> blocks = model.blocks().stream()
                .map(block -> block.withTimeStep(floored))
                .toList();
        return model.withBlocks(blocks, model.predictors());
    }

    /** What is to be known where only one of two models has one, though their weights are compared alike. */
    public static Optional<String> note(LayeredModel left, LayeredModel right) {
        double one = left.stepFloor();
        double other = right.stepFloor();
        return (one == 0) == (other == 0)
                ? Optional.empty()
                : Optional.of(("layers are compared without time_step_min %s, to which transformers raises shorter time"
                                + " steps of the %s checkpoint: the other's framework has no such bound")
                        .formatted(one == 0 ? other : one, one == 0 ? "second" : "first"));
    }

    /** Why two models that both have one are not known to compute the same. */
    public static Optional<String> difference(LayeredModel left, LayeredModel right) {
        boolean both = left.stepFloor() != 0 && right.stepFloor() != 0;
        return both && left.stepFloor() != right.stepFloor()
                ? Optional.of(
                        "time_step_min is %s in the first checkpoint and %s in the second: shorter time steps differ"
                                .formatted(left.stepFloor(), right.stepFloor()))
                : Optional.empty();
    }
}
