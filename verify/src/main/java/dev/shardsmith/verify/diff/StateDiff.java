package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.StateTree;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Compares what is no tensor of the model: options, counters, schedules, generators. */
final class StateDiff {
    private StateDiff() {}

    /** Every place where the two differ, in the order of the left side, then those of the right side alone. */
    static List<StateDifference> of(ModelView left, ModelView right, LayerAlignment alignment) throws IOException {
        Map<String, String> ours = leaves(StateTree.withDigests(left.state()), Optional::of);
        Map<String, String> theirs = leaves(StateTree.withDigests(right.state()), Optional::of);
        if (comparesModuleStates(left, right)) {
            // They are named as tensors are.
            ours.putAll(leaves(StateTree.withDigests(left.extraStates()), Optional::of));
            theirs.putAll(leaves(StateTree.withDigests(right.extraStates()), alignment::leftName));
        }
        ours.putAll(leaves(StateTree.digestsOfValues(left.values()), Optional::of));
        theirs.putAll(leaves(StateTree.digestsOfValues(right.values()), Optional::of));
        List<StateDifference> differences = new ArrayList<>();
        ours.forEach((path, text) -> {
            String other = theirs.getOrDefault(path, "");
            if (!other.equals(text)) {
                differences.add(new StateDifference(path, text, other));
            }
        });
        theirs.forEach((path, text) -> {
            if (!ours.containsKey(path)) {
                differences.add(new StateDifference(path, "", text));
            }
        });
        return differences;
    }

    /** Whether both sides have opaque module states at all; to name each that one side lacks would tell nothing. */
    static boolean comparesModuleStates(ModelView left, ModelView right) {
        return !left.extraStates().isEmpty() && !right.extraStates().isEmpty();
    }

    private static Map<String, String> leaves(List<StateTree.Leaf> tree, Function<String, Optional<String>> naming) {
        Map<String, String> leaves = new LinkedHashMap<>();
        for (StateTree.Leaf leaf : tree) {
            leaves.put(naming.apply(leaf.path()).orElse(leaf.path()), leaf.text());
        }
        return leaves;
    }
}
