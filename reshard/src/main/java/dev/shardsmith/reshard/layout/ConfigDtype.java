package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.plan.ConversionOptions;
import java.util.LinkedHashMap;
import java.util.Map;

/** The element type that {@code config.json} names. */
final class ConfigDtype {
    private ConfigDtype() {}

    /** {@code config.json} with the type that the weights now have. */
    static Map<String, Object> updated(Map<String, Object> config, ConversionOptions options) {
        Map<String, Object> changed = new LinkedHashMap<>(config);
        if (options.dtype().isPresent()) {
            changed.put(
                    config.containsKey("dtype") ? "dtype" : "torch_dtype",
                    options.dtype().get().torchName());
        }
        return changed;
    }
}
