package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * Training arguments by field name, as text: from a saved namespace or from a launch script.
 *
 * <p>Values are written as Python prints them ({@code True}, {@code 0.08}, {@code 56}, a string without quotes). A field that
 * is {@code None} counts as absent; {@link #knows(String)} tells the two apart.
 */
public final class ArgumentValues {
    private final Map<String, String> values = new LinkedHashMap<>();
    private final String where;

    private ArgumentValues(String where) {
        this.where = where;
    }

    /**
     * The arguments in a map.
     *
     * @param where what an error names: {@code saved args}, {@code train.sh}
     * @param values by field name, {@code None} for a field without a value
     */
    public static ArgumentValues of(String where, Map<String, String> values) {
        ArgumentValues made = new ArgumentValues(where);
        made.values.putAll(values);
        return made;
    }

    /** Whether the field is there at all, be it without a value. */
    public boolean knows(String field) {
        return values.containsKey(field);
    }

    /** Whether the field is there and has a value. */
    public boolean has(String field) {
        return text(field).isPresent();
    }

    /** The value as text. */
    public Optional<String> text(String field) {
        return Optional.ofNullable(values.get(field)).filter(value -> !value.equals("None"));
    }

    /**
     * The value as a whole number.
     *
     * @throws CheckpointException of kind {@code INCONSISTENT} if it is none
     */
    public OptionalInt integer(String field) throws CheckpointException {
        Optional<String> text = text(field);
        if (text.isEmpty()) {
            return OptionalInt.empty();
        }
        try {
            return OptionalInt.of(Integer.parseInt(text.get().strip()));
        } catch (NumberFormatException e) {
            throw unreadable(field, "whole number", text.get());
        }
    }

    /**
     * The value as a number.
     *
     * @throws CheckpointException of kind {@code INCONSISTENT} if it is none
     */
    public OptionalDouble real(String field) throws CheckpointException {
        Optional<String> text = text(field);
        if (text.isEmpty()) {
            return OptionalDouble.empty();
        }
        try {
            return OptionalDouble.of(Double.parseDouble(text.get().strip()));
        } catch (NumberFormatException e) {
            throw unreadable(field, "number", text.get());
        }
    }

    /**
     * Whether the value is true; absent is false.
     *
     * @throws CheckpointException of kind {@code INCONSISTENT} if it is neither true nor false
     */
    public boolean flag(String field) throws CheckpointException {
        Optional<String> text = text(field);
        if (text.isEmpty()) {
            return false;
        }
        return switch (text.get().strip()) {
            case "True", "true", "1" -> true;
            case "False", "false", "0" -> false;
            default -> throw unreadable(field, "True or False", text.get());
        };
    }

    /** All fields and values, in order; {@code None} for a field without a value. */
    public Map<String, String> all() {
        return Collections.unmodifiableMap(values);
    }

    /** What an error names. */
    public String where() {
        return where;
    }

    private CheckpointException unreadable(String field, String wanted, String found) {
        return CheckpointException.of(
                CheckpointException.Kind.INCONSISTENT,
                where + ", " + field,
                "%s should be a %s, but is %s".formatted(field, wanted, PatternProblem.shown(found)));
    }
}
