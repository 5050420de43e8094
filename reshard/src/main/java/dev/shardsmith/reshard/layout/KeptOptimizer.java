package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.OptimizerTensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The optimizer's state in a target: each tensor goes where its parameter goes.
 *
 * <p>What becomes of a parameter (its name, its rows, whether it is left out) is settled by the target's model; the state follows
 * it with its own element type. Rows that pad the vocabulary have never had a gradient, so their moments are zeros, as those are of
 * a run that has just begun; the parameter's copy in single precision is padded as the parameter is.
 */
final class KeptOptimizer {
    /**
     * A tensor of the state and the parameter whose place decides its own.
     *
     * @param state what its key begins with
     * @param parameter the parameter in the target
     * @param tensor the tensor in the target
     */
    record Kept(String state, TargetTensor parameter, TargetTensor tensor) {}

    private final List<Kept> kept = new ArrayList<>();
    private final Map<String, LogicalTensor> sources;
    private final TargetModel all;

    private KeptOptimizer(Map<String, LogicalTensor> sources, TargetModel all) {
        this.sources = sources;
        this.all = all;
    }

    /** The state that the user wants to keep: none, or all of it. */
    static KeptOptimizer of(MegatronGoal goal) throws IOException {
        TargetModel model = goal.model();
        if (goal.options().optimizer() != Keep.KEEP) {
            return new KeptOptimizer(goal.source().tensors(), model);
        }
        KeptOptimizer optimizer = new KeptOptimizer(
                new LinkedHashMap<>(goal.source().tensors()),
                new TargetModel(
                        new LinkedHashMap<>(model.tensors()),
                        new LinkedHashMap<>(model.fills()),
                        new ArrayList<>(model.dropped()),
                        model.notes()));
        Map<String, TargetTensor> bySource = new LinkedHashMap<>();
        model.tensors().values().forEach(tensor -> bySource.put(tensor.source(), tensor));
        for (OptimizerTensor tensor : goal.source().optimizerState().tensors()) {
            optimizer.add(tensor, bySource.get(tensor.parameter()));
        }
        return optimizer;
    }

    private void add(OptimizerTensor state, TargetTensor parameter) {
        LogicalTensor tensor = state.tensor();
        sources.put(tensor.name(), tensor);
        if (parameter == null) {
            drop(tensor.name(), tensor, tensor.shape().elements(), "its parameter is left out");
            return;
        }
        TargetTensor target =
                new TargetTensor(state.state() + parameter.name(), tensor.name(), tensor.dtype(), parameter.shape());
        List<Fill> fills = all.fills().getOrDefault(parameter.name(), List.of());
        long rows = tensor.shape().rank() == 0 ? 0 : tensor.shape().size(0);
        long copied =
                target.shape().rank() == 0 ? 0 : Math.min(rows, target.shape().size(0));
        for (Fill fill : fills) {
            copied = Math.min(copied, fill.box().offset()[0]);
        }
        if (copied < rows) {
            Box left = Box.slice(tensor.shape(), 0, copied, rows - copied);
            drop(tensor.name() + "[" + copied + ":" + rows + "]", tensor, left.elements(), "vocabulary padding");
        }
        if (!fills.isEmpty()) {
            all.fills()
                    .put(
                            target.name(),
                            state.isMaster()
                                    ? fills
                                    : fills.stream()
                                            .map(fill -> new Fill(fill.box(), Fill.Mode.ZERO))
                                            .toList());
        }
        all.add(target);
        kept.add(new Kept(state.state(), parameter, target));
    }

    private void drop(String what, LogicalTensor tensor, long elements, String reason) {
        all.dropped().add(new Dropped(what, elements, tensor.dtype().bytes(elements), reason));
    }

    /** The tensors of the state in the target. */
    List<Kept> tensors() {
        return kept;
    }

    /** What has to reach the target: the source's model and the state that is kept. */
    Map<String, LogicalTensor> sources() {
        return sources;
    }

    /** The target's model with the state that is kept. */
    TargetModel model() {
        return all;
    }
}
