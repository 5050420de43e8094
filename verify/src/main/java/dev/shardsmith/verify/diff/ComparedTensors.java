package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OptimizerState;
import dev.shardsmith.reshard.view.OptimizerTensor;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The tensors of two checkpoints that are compared: those of the models, and those of the optimizers' states if both sides have
 * states whose tensors belong to parameters.
 */
public final class ComparedTensors {
    private final LayerAlignment alignment;
    private final Map<String, LogicalTensor> left;
    private final Map<String, LogicalTensor> right;
    private final Map<String, OptimizerTensor> rightStates;
    private final List<String> leftOut;

    private ComparedTensors(
            LayerAlignment alignment,
            Map<String, LogicalTensor> left,
            Map<String, LogicalTensor> right,
            Map<String, OptimizerTensor> rightStates,
            List<String> leftOut) {
        this.alignment = alignment;
        this.left = left;
        this.right = right;
        this.rightStates = rightStates;
        this.leftOut = leftOut;
    }

    /** Sorts what there is; reads no element. */
    public static ComparedTensors of(ModelView left, ModelView right) throws IOException {
        LayerAlignment alignment = LayerAlignment.of(left, right);
        long ours = left.optimizer().tensors();
        long theirs = right.optimizer().tensors();
        boolean none = ours == 0 && theirs == 0;
        Optional<String> reason = none ? Optional.of("") : reason("A", left);
        if (reason.isEmpty()) {
            reason = reason("B", right);
        }
        if (reason.isPresent()) {
            List<String> words = none
                    ? List.of()
                    : List.of(ours + " and " + theirs + " tensors of an optimizer's state: " + reason.get());
            return new ComparedTensors(alignment, left.tensors(), right.tensors(), Map.of(), words);
        }
        Map<String, OptimizerTensor> states = new HashMap<>();
        right.optimizerState()
                .tensors()
                .forEach(state -> states.put(state.tensor().name(), state));
        return new ComparedTensors(alignment, withState(left), withState(right), states, List.of());
    }

    /** Why a side's state cannot be compared; empty if it can. */
    private static Optional<String> reason(String side, ModelView view) throws IOException {
        if (view.optimizer().tensors() == 0) {
            return Optional.of(side + " has none");
        }
        OptimizerState state = view.optimizerState();
        return state.obstacle().map(obstacle -> side + " has it as " + state.encoding());
    }

    private static Map<String, LogicalTensor> withState(ModelView view) throws IOException {
        Map<String, LogicalTensor> all = new LinkedHashMap<>(view.tensors());
        view.optimizerState().tensors().forEach(state -> all.put(state.tensor().name(), state.tensor()));
        return all;
    }

    /** Which layers of both sides are the same part of the model. */
    LayerAlignment alignment() {
        return alignment;
    }

    /** Those of the left side by name. */
    Map<String, LogicalTensor> left() {
        return left;
    }

    /** Those of the right side by their own names. */
    Map<String, LogicalTensor> right() {
        return right;
    }

    /** The name on the left of a tensor of the right side; empty if it belongs to a part that the left does not have. */
    Optional<String> leftName(String rightName) {
        OptimizerTensor state = rightStates.get(rightName);
        return state == null
                ? alignment.leftName(rightName)
                : alignment.leftName(state.parameter()).map(name -> state.state() + name);
    }

    /** What is not compared, in words. */
    List<String> leftOut() {
        return leftOut;
    }

    /** The names of both sides. */
    public Set<String> names() {
        Set<String> names = new LinkedHashSet<>(left.keySet());
        names.addAll(right.keySet());
        return names;
    }
}
