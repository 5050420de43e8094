package dev.shardsmith.reshard.view;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * What an optimizer's state is for other parallel sizes: tensors that are divided as the parameters are, or the reason why there
 * are none.
 *
 * @param encoding how it is saved, by the name that Megatron has for it: {@code fully_reshardable}, {@code dp_reshardable}, …
 * @param tensors those that have the shape of a parameter, in the order of the model; empty where there is an obstacle
 * @param obstacle why it cannot be divided otherwise
 * @param damaged whether the obstacle is that a part of it is missing
 */
public record OptimizerState(
        String encoding, List<OptimizerTensor> tensors, Optional<String> obstacle, boolean damaged) {
    /** Finds the state when it is first asked for. */
    @FunctionalInterface
    public interface Finder {
        /** Sorts names and shapes; reads no element. */
        OptimizerState find() throws IOException;
    }

    /** State whose tensors have the shapes of parameters. */
    public static OptimizerState of(String encoding, List<OptimizerTensor> tensors) {
        return new OptimizerState(encoding, List.copyOf(tensors), Optional.empty(), false);
    }

    /** State that only the run can read that saved it. */
    public static OptimizerState bound(String encoding, String obstacle) {
        return new OptimizerState(encoding, List.of(), Optional.of(obstacle), false);
    }

    /** State of which a tensor is missing. */
    public static OptimizerState incomplete(String encoding, String tensor) {
        return new OptimizerState(encoding, List.of(), Optional.of(tensor + " is missing"), true);
    }
}
