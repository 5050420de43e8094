package dev.shardsmith.reshard.view;

/**
 * A tensor of an optimizer's state that has an element for each element of a parameter: a moment, or the parameter in single
 * precision.
 *
 * @param state what its key has before that of the parameter, {@code optimizer.state.exp_avg.}
 * @param parameter canonical name of the parameter
 * @param tensor the tensor, whose name is both together
 */
public record OptimizerTensor(String state, String parameter, LogicalTensor tensor) {
    /** True for a copy of the parameter itself, in more bits than the model's own. */
    public boolean isMaster() {
        return state.endsWith(".param.") || state.endsWith(".fp32_param.");
    }
}
