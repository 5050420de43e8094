package dev.shardsmith.verify.launch;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;

/** The shell variables that are known at one place of a script. */
final class Variables {
    /** A value: one text, or the items of an array. */
    record Value(List<Field> items, boolean list) {
        Value {
            items = List.copyOf(items);
        }
    }

    private final Map<String, Value> values;

    Variables() {
        this.values = new HashMap<>();
    }

    private Variables(Map<String, Value> values) {
        this.values = new HashMap<>(values);
    }

    Variables copy() {
        return new Variables(values);
    }

    Optional<Value> get(String name) {
        return Optional.ofNullable(values.get(name));
    }

    void set(String name, Value value) {
        values.put(name, value);
    }

    void remove(String name) {
        values.remove(name);
    }

    void forget(String name, int line) {
        values.put(name, new Value(List.of(new Field(Field.unresolved(name), false, line)), false));
    }

    /** The variables of which it is not known which of the given states they are in. */
    static Variables merged(List<Variables> states, int line) {
        Variables merged = states.get(0).copy();
        for (Variables other : states.subList(1, states.size())) {
            TreeSet<String> names = new TreeSet<>(merged.values.keySet());
            names.addAll(other.values.keySet());
            for (String name : names) {
                if (!Objects.equals(merged.values.get(name), other.values.get(name))) {
                    merged.forget(name, line);
                }
            }
        }
        return merged;
    }
}
