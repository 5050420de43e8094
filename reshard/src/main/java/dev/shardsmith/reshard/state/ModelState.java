package dev.shardsmith.reshard.state;

import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Everything in a training checkpoint that is not the model: options, counters, schedules, random number generators.
 *
 * @param entries top-level entries by key, in the order of the file; {@code model} and {@code optimizer} only mark their
 *     place there
 * @param tensors the tensors inside the entries, by their node
 */
public record ModelState(Map<String, PyValue> entries, Map<PyValue, StoredTensor> tensors) {
    /** State of a checkpoint that has none. */
    public static ModelState none() {
        return new ModelState(new LinkedHashMap<>(), new LinkedHashMap<>());
    }

    /** The saved options of the training run, if there are any. */
    public Optional<MegatronArgs> args() {
        return Optional.ofNullable(entries.get("args")).flatMap(MegatronArgs::of);
    }
}
