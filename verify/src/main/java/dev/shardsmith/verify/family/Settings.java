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
 * <p>An option of another type than is asked for is no option: {@link IllegalArgumentException} says so.
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
     * @throws IllegalArgumentException if something else stands there
     */
    public int integer(String... names) throws CheckpointException {
        return number(names)
                .map(number -> whole(names[0], number))
                .orElseThrow(() -> CheckpointException.of(
                        CheckpointException.Kind.INCOMPLETE, origin, "the option " + names[0] + " is needed"));
    }

    /** A whole number, or another one where the option is absent. */
    public int integerOr(int otherwise, String... names) {
        return number(names).map(number -> whole(names[0], number)).orElse(otherwise);
    }

    private static int whole(String name, Number number) {
        double value = number.doubleValue();
        if (value != Math.rint(value) || Math.abs(value) > Integer.MAX_VALUE) {
            throw wrong(name, number, "a whole number of at most " + Integer.MAX_VALUE);
        }
        return (int) value;
    }

    private static IllegalArgumentException wrong(String name, Object found, String expected) {
        return new IllegalArgumentException(
                "the option %s is %s, where %s is expected".formatted(name, found, expected));
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
        Optional<Object> found = first(names);
        if (found.isPresent() && found.get() instanceof Number number) {
            // As Python takes numbers.
            return number.doubleValue() != 0;
        }
        if (found.isPresent() && !(found.get() instanceof Boolean)) {
            throw wrong(names[0], found.get(), "a truth value");
        }
        return found.map(Boolean.class::cast).orElse(otherwise);
    }

    /** A text. */
    public Optional<String> text(String... names) {
        return first(names).filter(String.class::isInstance).map(String.class::cast);
    }

    /** A list; empty where the option is absent. */
    public List<Object> list(String... names) {
        Optional<Object> found = first(names);
        if (found.isPresent() && !(found.get() instanceof List)) {
            throw wrong(names[0], found.get(), "a list");
        }
        // Elements may be null, which List.copyOf refuses.
        return found.isPresent() ? Collections.unmodifiableList(new ArrayList<>((List<?>) found.get())) : List.of();
    }

    /** How raw time steps become those of a scan: by softplus, then within the bounds [least, most] of an option, if it is there. */
    TimeStep timeStep(String bounds) {
        List<Object> limit = list(bounds);
        if (!limit.isEmpty() && (limit.size() != 2 || !(limit.get(0) instanceof Number))) {
            throw wrong(bounds, limit, "a list of the least and the most");
        }
        return TimeStepLimit.of(limit)
                .map(found -> TimeStep.limited(found.low(), found.high()))
                .orElse(TimeStep.SOFTPLUS);
    }

    /** A list of that many numbers; empty where the option is absent. */
    public float[] floats(String name, int count) {
        List<Object> list = list(name);
        if (!list.isEmpty() && (list.size() != count || !list.stream().allMatch(Number.class::isInstance))) {
            throw wrong(name, list, "a list of " + count + " numbers");
        }
        float[] floats = new float[list.size()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = ((Number) list.get(i)).floatValue();
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
        Optional<Object> found = first(names);
        if (found.isPresent() && !(found.get() instanceof Number)) {
            throw wrong(names[0], found.get(), "a number");
        }
        return found.map(Number.class::cast);
    }
}
