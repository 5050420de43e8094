package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.verify.digest.StateTree;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Compares what is no tensor of the model: options, counters, schedules, generators. */
final class StateDiff {
    private StateDiff() {}

    /** Every place where the two differ, in the order of the left side, then those of the right side alone. */
    static List<StateDifference> of(ModelState left, ModelState right) throws IOException {
        Map<String, String> ours = leaves(left);
        Map<String, String> theirs = leaves(right);
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

    private static Map<String, String> leaves(ModelState state) throws IOException {
        Map<String, String> leaves = new LinkedHashMap<>();
        for (StateTree.Leaf leaf : StateTree.withDigests(state)) {
            leaves.put(leaf.path(), leaf.text());
        }
        return leaves;
    }
}
