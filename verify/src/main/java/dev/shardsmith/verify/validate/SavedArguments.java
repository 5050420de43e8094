package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Turns a saved namespace into arguments by name. */
final class SavedArguments {
    private SavedArguments() {}

    /** The fields whose values have a simple text; others are left out. */
    static ArgumentValues of(MegatronArgs args) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String name : args.names()) {
            Optional<PyValue> value = args.value(name);
            if (value.isEmpty()) {
                values.put(name, "None");
            } else {
                MegatronArgs.shown(value.get()).ifPresent(text -> values.put(name, text));
            }
        }
        return ArgumentValues.of("saved args", values);
    }
}
