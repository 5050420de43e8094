package dev.shardsmith.reshard.completeness;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The parameters of one layer by suffix. */
final class LayerParts {
    private final String prefix;
    private final Map<String, LogicalTensor> tensors = new LinkedHashMap<>();

    LayerParts(String prefix) {
        this.prefix = prefix;
    }

    void add(String suffix, LogicalTensor tensor) {
        tensors.put(suffix, tensor);
    }

    /** Everything before the suffix, with its dot. */
    String prefix() {
        return prefix;
    }

    Set<String> suffixes() {
        return tensors.keySet();
    }

    boolean has(String suffix) {
        return tensors.containsKey(suffix);
    }

    boolean hasAny(Iterable<String> suffixes) {
        for (String suffix : suffixes) {
            if (has(suffix)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a suffix begins with a text. */
    boolean hasIn(String module) {
        return tensors.keySet().stream().anyMatch(suffix -> suffix.startsWith(module));
    }

    /** The undivided shape of a parameter. */
    Optional<Shape> shape(String suffix) {
        return Optional.ofNullable(tensors.get(suffix)).map(LogicalTensor::shape);
    }

    /** The size of a parameter along an axis. */
    Optional<Long> size(String suffix, int axis) {
        return shape(suffix).filter(shape -> shape.rank() > axis).map(shape -> shape.size(axis));
    }
}
