package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.family.TimeStepLimit;
import dev.shardsmith.verify.forward.TimeStep;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The options of a model, as its configuration file or saved arguments give them.
 *
 * @param origin where they come from, for messages
 * @param values maps, lists, strings, numbers, booleans; an option that is null or absent is not there
 */
public record Settings(String origin, Map<String, Object> values) {

    /** An option as it is there, whatever it is; dots lead into options inside it. */
    Optional<Object> value(String path) {
        int dot = path.indexOf('.');
        return dot < 0 ? first(path) : inside(path.substring(0, dot)).value(path.substring(dot + 1));
    }

    /** The first of these options that is there. */
    private Optional<Object> first(String... names) {
        for (String name : names) {
            if (values.get(name) != null) {
                return Optional.of(values.get(name));
            }
        }
        return Optional.empty();
    }

    /**
     * A whole number under the first of these names.
     *
     * @throws CheckpointException if there is none
     */
    public int integer(String... names) throws CheckpointException {
        return number(names)
                .map(Number::intValue)
                .orElseThrow(() -> CheckpointException.of(
                        CheckpointException.Kind.INCOMPLETE, origin, "the option " + names[0] + " is needed"));
    }

    /** A whole number, or another one where the option is absent. */
    public int integerOr(int otherwise, String... names) {
        return number(names).map(Number::intValue).orElse(otherwise);
    }

    /** A number, or another one where the option is absent. */
    public double realOr(double otherwise, String... names) {
        return number(names).map(Number::doubleValue).orElse(otherwise);
    }

    /** A float, or another one where the option is absent. */
    public float floatOr(double otherwise, String... names) {
        return (float) realOr(otherwise, names);
    }

    /** A truth value, or another one where the option is absent. */
    public boolean flagOr(boolean otherwise, String... names) {
        return first(names)
                .filter(Boolean.class::isInstance)
                .map(Boolean.class::cast)
                .orElse(otherwise);
    }

    /** A text. */
    public Optional<String> text(String... names) {
        return first(names).filter(String.class::isInstance).map(String.class::cast);
    }

    /** A list; empty where the option is absent. */
    public List<Object> list(String... names) {
        Optional<Object> found = first(names);
        // Elements may be null, which List.copyOf refuses.
        return found.isPresent() && found.get() instanceof List<?> list
                ? Collections.unmodifiableList(new ArrayList<>(list))
                : List.of();
    }

    /** How raw time steps become those of a scan: by softplus, then within the bounds [least, most] of an option, if it is there. */
    TimeStep timeStep(String bounds) {
        return TimeStepLimit.of(list(bounds))
                .map(limit -> TimeStep.limited(limit.low(), limit.high()))
                .orElse(TimeStep.SOFTPLUS);
    }

    /** A list of numbers; empty where the option is absent. */
    public float[] floats(String name) {
        List<Object> list = list(name);
        float[] floats = new float[list.size()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = list.get(i) instanceof Number number ? number.floatValue() : Float.NaN;
        }
        return floats;
    }

    /** The options inside an option; empty where it is absent. */
    public Settings inside(String name) {
        Object found = values.get(name);
        Map<String, Object> inner = new LinkedHashMap<>();
        if (found instanceof Map<?, ?> map) {
            map.forEach((key, value) -> inner.put(String.valueOf(key), value));
        }
        return new Settings(origin + ", " + name, inner);
    }

    private Optional<Number> number(String... names) {
        return first(names).filter(Number.class::isInstance).map(Number.class::cast);
    }
}
