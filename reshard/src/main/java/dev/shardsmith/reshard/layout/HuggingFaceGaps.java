package dev.shardsmith.reshard.layout;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Finds what a Hugging Face folder should have but has not, as far as {@code config.json} and its other layers tell.
 *
 * <p>An index that was written after a shard was lost agrees with the shards that are left. Names that are only known in part end
 * in {@code *}.
 */
final class HuggingFaceGaps {
    private static final String LAYERS = "layers.";

    /** As many digits as always fit an int. */
    private static final int MOST_DIGITS = 9;

    /** More are not listed: the checkpoint is hopeless then, and a config may claim any number of layers. */
    private static final int MOST = 1000;

    private final Map<String, Object> config;
    private final Set<String> names;
    private final Map<String, String> gaps = new LinkedHashMap<>();

    private HuggingFaceGaps(Map<String, Object> config, Set<String> names) {
        this.config = config;
        this.names = names;
    }

    /**
     * What is missing, each with how that is known.
     *
     * @param config {@code config.json}
     * @param names names of all tensors
     * @param kinds symbol of each layer; empty if kinds are not known, then layers are not compared with each other
     */
    static Map<String, String> find(Map<String, Object> config, Set<String> names, String kinds) {
        HuggingFaceGaps finder = new HuggingFaceGaps(config, names);
        if (config.containsKey("model_type") && !names.isEmpty()) {
            if (HuggingFaceKinds.isKnown(config)) {
                finder.ends();
            }
            finder.layers(kinds);
        }
        return finder.gaps;
    }

    /**
     * Says so if there are more layers than {@code config.json} has: transformers reads the first ones only.
     *
     * @param config {@code config.json}
     * @param names names of all tensors
     */
    static Optional<String> surplus(Map<String, Object> config, Set<String> names) {
        int last = -1;
        for (String name : names) {
            int begin = layerBegin(name);
            if (begin >= 0) {
                last = Math.max(last, Integer.parseInt(name, begin, name.indexOf('.', begin), 10));
            }
        }
        // Other architectures store layers that predict further tokens behind the last one.
        return HuggingFaceKinds.isKnown(config)
                        && config.get("num_hidden_layers") instanceof Number depth
                        && last >= depth.longValue()
                ? Optional.of("the files have " + (last + 1) + " layers, config.json says " + depth)
                : Optional.empty();
    }

    private void ends() {
        boolean embedded = false;
        for (String name : names) {
            embedded = embedded || name.matches(".*embed.*\\.weight");
        }
        if (!embedded) {
            gaps.put("*embed*", "no tensor is an embedding");
        }
        boolean normed = false;
        for (String name : names) {
            boolean norm = name.endsWith("norm.weight") || name.endsWith("norm_f.weight");
            normed |= norm && layerBegin(name) < 0;
        }
        if (!normed) {
            gaps.put("*norm*", "no tensor is the last normalisation");
        }
        boolean head = String.valueOf(config.get("architectures")).contains("ForCausalLM");
        boolean untied = Boolean.FALSE.equals(config.get("tie_word_embeddings"));
        if (head && untied && !names.contains("lm_head.weight")) {
            gaps.put("lm_head.weight", "config.json says that it is not tied to the embedding");
        }
    }

    private void layers(String kinds) {
        Map<Integer, Set<String>> layers = new TreeMap<>();
        String prefix = "";
        for (String name : names) {
            int begin = layerBegin(name);
            if (begin >= 0) {
                int end = name.indexOf('.', begin);
                prefix = name.substring(0, begin - LAYERS.length());
                layers.computeIfAbsent(Integer.parseInt(name, begin, end, 10), number -> new LinkedHashSet<>())
                        .add(name.substring(end + 1));
            }
        }
        if (!(config.get("num_hidden_layers") instanceof Number depth) || layers.isEmpty()) {
            return;
        }
        for (int layer = 0; layer < depth.longValue() && gaps.size() < MOST; layer++) {
            if (!layers.containsKey(layer)) {
                gaps.put(prefix + "layers." + layer + ".*", "config.json says that there are " + depth + " layers");
            }
        }
        Map<Character, List<Integer>> byKind = new LinkedHashMap<>();
        layers.keySet().stream()
                .filter(layer -> layer < kinds.length() && kinds.charAt(layer) != HuggingFaceKinds.ALONE)
                .forEach(layer -> byKind.computeIfAbsent(kinds.charAt(layer), kind -> new ArrayList<>())
                        .add(layer));
        for (List<Integer> alike : byKind.values()) {
            compare(prefix, alike, layers);
        }
    }

    /** Where the number of the layer begins that a parameter belongs to; -1 if it belongs to none. */
    private static int layerBegin(String name) {
        if (name.startsWith("mtp.")) {
            return -1;
        }
        // Without a regular expression: there may be a hundred thousand names.
        for (int at = name.indexOf(LAYERS); at >= 0; at = name.indexOf(LAYERS, at + 1)) {
            int begin = at + LAYERS.length();
            int end = begin;
            while (end < name.length() && end < begin + MOST_DIGITS && isDigit(name.charAt(end))) {
                end++;
            }
            if (end > begin && end + 1 < name.length() && name.charAt(end) == '.') {
                return begin;
            }
        }
        return -1;
    }

    private static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }

    /** Layers of one kind have the same parameters: what at least half of them have, the others lack. */
    private void compare(String prefix, List<Integer> alike, Map<Integer, Set<String>> layers) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        alike.forEach(layer -> layers.get(layer).forEach(parameter -> counts.merge(parameter, 1, Integer::sum)));
        for (int layer : alike) {
            counts.forEach((parameter, count) -> {
                if (count * 2 >= alike.size() && !layers.get(layer).contains(parameter) && gaps.size() < MOST) {
                    gaps.put(prefix + "layers." + layer + "." + parameter, "other layers of its kind have it");
                }
            });
        }
    }
}
