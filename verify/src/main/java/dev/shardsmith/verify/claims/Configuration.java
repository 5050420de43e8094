package dev.shardsmith.verify.claims;

import java.math.BigInteger;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The options of a configuration file; a dot in a name leads into options inside it.
 *
 * @param values as parsed
 */
record Configuration(Map<String, Object> values) {

    /** What stands there; empty if it is null, absent, or the word by which a library chooses for itself. */
    Optional<Object> value(String path) {
        Object found = values;
        for (String name : path.split("\\.")) {
            found = found instanceof Map<?, ?> map ? map.get(name) : null;
        }
        return "auto".equals(found) ? Optional.empty() : Optional.ofNullable(found);
    }

    /** A number, or a truth value as 1 or 0; empty if there is none. */
    OptionalDouble number(String path) {
        Optional<Object> found = value(path);
        if (found.isPresent() && found.get() instanceof Number number) {
            return OptionalDouble.of(number.doubleValue());
        }
        return found.isPresent() && found.get() instanceof Boolean flag
                ? OptionalDouble.of(flag ? 1 : 0)
                : OptionalDouble.empty();
    }

    /** Whether something stands there that is no number. */
    boolean isNoNumber(String path) {
        return value(path).isPresent() && number(path).isEmpty();
    }

    /** The option as an error shows it. */
    String shown(String path) {
        Object found = value(path).orElse(null);
        if (found instanceof String text) {
            return '"' + cut(text) + '"';
        }
        return found instanceof Number || found instanceof Boolean || found == null
                ? cut(number(found))
                : found instanceof Map ? "an object" : "a list";
    }

    private static String number(Object value) {
        return value instanceof BigInteger big && big.bitLength() > 200
                ? "a number of " + big.bitLength() + " bits"
                : String.valueOf(value);
    }

    private static String cut(String text) {
        return text.length() <= 60 ? text : text.substring(0, 60) + "…";
    }
}
