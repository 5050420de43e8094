package dev.shardsmith.reshard.completeness;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Layers of one kind have the same parameters: what some of them have, the others lack. */
final class Consensus {
    private Consensus() {}

    /**
     * Adds what some layers lack that others of their kind have.
     *
     * @param title what to call such layers
     * @param meaning one text for all spellings of a parameter; empty for what layers may have or not
     */
    static void compare(
            String title, List<LayerParts> layers, Function<String, Optional<String>> meaning, List<Gap> gaps) {
        Map<String, String> spelling = new LinkedHashMap<>();
        Map<String, Integer> counts = new LinkedHashMap<>();
        Map<LayerParts, Map<String, String>> held = new LinkedHashMap<>();
        for (LayerParts layer : layers) {
            Map<String, String> own = new LinkedHashMap<>();
            for (String suffix : layer.suffixes()) {
                meaning.apply(suffix).ifPresent(what -> own.putIfAbsent(what, suffix));
            }
            own.forEach((what, suffix) -> {
                spelling.putIfAbsent(what, suffix);
                counts.merge(what, 1, Integer::sum);
            });
            held.put(layer, own);
        }
        counts.values().removeIf(count -> count == layers.size());
        for (LayerParts layer : layers) {
            counts.forEach((what, count) -> {
                if (!held.get(layer).containsKey(what)) {
                    gaps.add(Gap.tensor(
                            layer.prefix() + spelling.get(what),
                            "%d of %d %s layers have it".formatted(count, layers.size(), title)));
                }
            });
        }
    }
}
