package dev.shardsmith.reshard.family;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The bounds of a Mamba-2 layer's time steps, where a config sets some.
 *
 * @param low the least
 * @param high the most, which may be infinite
 */
public record TimeStepLimit(double low, double high) {

    /** The bounds that a Hugging Face config sets as {@code time_step_limit}. */
    static Optional<TimeStepLimit> of(Map<String, Object> config) {
        return config.get("time_step_limit") instanceof List<?> limit ? of(limit) : Optional.empty();
    }

    /** The bounds of a list [least, most]; empty for none, which are 0 and infinity, and for a list of another length. */
    public static Optional<TimeStepLimit> of(List<?> limit) {
        if (limit.size() != 2) {
            return Optional.empty();
        }
        double low = limit.get(0) instanceof Number number ? number.doubleValue() : 0;
        // Infinity is no JSON number: it is written as a bare word, a text or an object.
        double high = limit.get(1) instanceof Number number ? number.doubleValue() : Double.POSITIVE_INFINITY;
        return low == 0 && high == Double.POSITIVE_INFINITY
                ? Optional.empty()
                : Optional.of(new TimeStepLimit(low, high));
    }

    /** As configs write it. */
    List<Object> words() {
        return List.of(low, high);
    }

    @Override
    public String toString() {
        return "[" + low + ", " + high + "]";
    }
}
