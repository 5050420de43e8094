package dev.shardsmith.verify.diff;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Puts results in the order of the left side's names, and those of the right side alone at the end. */
final class ModelOrder {
    private ModelOrder() {}

    static List<TensorDiff> merge(Set<String> names, List<TensorDiff> both, List<TensorDiff> unpaired) {
        Map<String, TensorDiff> byName = new LinkedHashMap<>();
        both.forEach(diff -> byName.put(diff.name(), diff));
        unpaired.forEach(diff -> byName.put(diff.name(), diff));
        List<TensorDiff> ordered = new ArrayList<>();
        for (String name : names) {
            TensorDiff diff = byName.remove(name);
            if (diff != null) {
                ordered.add(diff);
            }
        }
        ordered.addAll(byName.values());
        return ordered;
    }
}
