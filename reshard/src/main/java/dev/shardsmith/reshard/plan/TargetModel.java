package dev.shardsmith.reshard.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The logical tensors that a target is to have, and what becomes of those that it is not to have.
 *
 * @param tensors target tensors by their name in the target, in order
 * @param fills elements that no source has, by target name
 * @param dropped source elements that are left out, by name and reason
 * @param notes what a user should know
 */
public record TargetModel(
        Map<String, TargetTensor> tensors, Map<String, List<Fill>> fills, List<Dropped> dropped, List<String> notes) {
    /** An empty model, to be filled. */
    public static TargetModel empty() {
        return new TargetModel(new LinkedHashMap<>(), new LinkedHashMap<>(), new ArrayList<>(), new ArrayList<>());
    }

    /** Adds a tensor. */
    public void add(TargetTensor tensor) {
        tensors.put(tensor.name(), tensor);
    }
}
