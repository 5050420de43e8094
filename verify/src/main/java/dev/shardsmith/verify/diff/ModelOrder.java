package dev.shardsmith.verify.diff;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Puts results in the order of the left side's names, and those of the right side alone at the end. */
final class ModelOrder {
    private ModelOrder() {}

    static List<TensorDiff> merge(Set<String> names, List<TensorDiff> both, List<TensorDiff> unpaired) {
        Map<String, TensorDiff> byName = new HashMap<>();
        List<TensorDiff> onRight = new ArrayList<>();
        for (TensorDiff diff : both) {
            byName.put(diff.name(), diff);
        }
        for (TensorDiff diff : unpaired) {
            // The right side may use a name of the left side for another part of the model.
            if (diff.left().isPresent()) {
                byName.put(diff.name(), diff);
            } else {
                onRight.add(diff);
            }
        }
        List<TensorDiff> ordered = new ArrayList<>();
        for (String name : names) {
            Optional.ofNullable(byName.get(name)).ifPresent(ordered::add);
        }
        ordered.addAll(onRight);
        return ordered;
    }
}
