package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.LinkedHashMap;
import java.util.List;
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
                text(value.get()).ifPresent(text -> values.put(name, text));
            }
        }
        return ArgumentValues.of("saved args", values);
    }

    private static Optional<String> text(PyValue value) {
        if (value instanceof PyStr str) {
            return Optional.of(str.value());
        }
        if (value instanceof PyInt number) {
            return Optional.of(number.toString());
        }
        if (value instanceof PyBool bool) {
            return Optional.of(bool.value() ? "True" : "False");
        }
        if (value instanceof PyFloat number) {
            return Optional.of(Double.toString(number.value()));
        }
        if (value instanceof PyGlobal global) {
            return Optional.of(global.qualifiedName());
        }
        List<PyValue> items = value instanceof PyList list
                ? list.items()
                : value instanceof PyTuple tuple ? tuple.items() : List.of();
        List<String> texts = items.stream()
                .filter(PyStr.class::isInstance)
                .map(item -> ((PyStr) item).value())
                .toList();
        return texts.isEmpty() ? Optional.empty() : Optional.of(String.join(" ", texts));
    }
}
