package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OptimizerState;
import dev.shardsmith.reshard.view.OptimizerTensor;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The tensors of two checkpoints that are compared: those of the models, and those of the optimizers' states if both sides have
 * states whose tensors belong to parameters.
 *
 * @param left those of the left side by name
 * @param right those of the right side by their own names
 * @param leftNames the name on the left of each of the right side that can have one there
 * @param leftOut what is not compared, in words
 */
public record ComparedTensors(
        Map<String, LogicalTensor> left,
        Map<String, LogicalTensor> right,
        Map<String, String> leftNames,
        List<String> leftOut) {
    /** Sorts what there is; reads no element. */
    public static ComparedTensors of(ModelView left, ModelView right) throws IOException {
        return of(left, right, LayerAlignment.of(left, right));
    }

    static ComparedTensors of(ModelView left, ModelView right, LayerAlignment alignment) throws IOException {
        Map<String, String> names = new LinkedHashMap<>();
        for (String name : right.tensors().keySet()) {
            alignment.leftName(name).ifPresent(found -> names.put(name, found));
        }
        boolean none = left.optimizer().tensors() == 0 && right.optimizer().tensors() == 0;
        Optional<String> reason = none ? Optional.of("") : why("A", left);
        if (reason.isEmpty()) {
            reason = why("B", right);
        }
        if (reason.isPresent()) {
            String words = left.optimizer().tensors() + " and "
                    + right.optimizer().tensors() + " tensors of an optimizer's state: " + reason.get();
            return new ComparedTensors(
                    left.tensors(), right.tensors(), names, reason.get().isEmpty() ? List.of() : List.of(words));
        }
        for (OptimizerTensor tensor : right.optimizerState().tensors()) {
            alignment
                    .leftName(tensor.parameter())
                    .ifPresent(found -> names.put(tensor.tensor().name(), tensor.state() + found));
        }
        return new ComparedTensors(withState(left), withState(right), names, List.of());
    }

    /** Why a side's state cannot be compared. */
    private static Optional<String> why(String side, ModelView view) throws IOException {
        if (view.optimizer().tensors() == 0) {
            return Optional.of(side + " has none");
        }
        OptimizerState state = view.optimizerState();
        return state.obstacle().map(obstacle -> side + " has it as " + state.encoding());
    }

    private static Map<String, LogicalTensor> withState(ModelView view) throws IOException {
        Map<String, LogicalTensor> all = new LinkedHashMap<>(view.tensors());
        view.optimizerState()
                .tensors()
                .forEach(tensor -> all.put(tensor.tensor().name(), tensor.tensor()));
        return all;
    }
}
