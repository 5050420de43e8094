package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.family.AttentionSizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Which layers of a published model have the same parameters, as far as its {@code config.json} tells. */
final class HuggingFaceKinds {
    /** A layer that is compared with no other. */
    static final char ALONE = ' ';

    /** Models all of whose layers are alike. */
    private static final Set<String> UNIFORM = Set.of(
            "mamba",
            "mamba2",
            "falcon_mamba",
            "falcon_h1",
            "llama",
            "mistral",
            "mixtral",
            "qwen2",
            "qwen3",
            "gemma",
            "gemma2",
            "olmo",
            "olmo2",
            "phi3",
            "granite",
            "starcoder2",
            "gpt_neox");

    /** Models with layers of several kinds. */
    private static final Set<String> MIXED = Set.of("nemotron_h", "bamba", "granitemoehybrid", "zamba2", "jamba");

    /** No published model has more layers; a config may claim any number. */
    private static final int MOST = 4096;

    private HuggingFaceKinds() {}

    /** Whether the names of the model's embedding and last norm are known; others may call them anything. */
    static boolean isKnown(Map<String, Object> config) {
        String type = String.valueOf(config.get("model_type"));
        return UNIFORM.contains(type) || MIXED.contains(type);
    }

    /** A symbol for each layer, the same for layers that are alike; empty if it is not known which are. */
    static String of(Map<String, Object> config) {
        int layers = (int) Math.max(0, Math.min(MOST, AttentionSizes.number(config, "num_hidden_layers", 0)));
        String type = String.valueOf(config.get("model_type"));
        if (UNIFORM.contains(type)) {
            return "M".repeat(layers);
        }
        return switch (type) {
            case "bamba" -> indexed(config.get("attn_layer_indices"), layers);
            case "granitemoehybrid" -> listed(config.get("layer_types"), layers);
            case "zamba2" -> listed(config.get("layers_block_type"), layers);
            case "jamba" -> periodic(config, layers);
            default -> "";
        };
    }

    private static String indexed(Object attention, int layers) {
        List<?> indices = attention instanceof List<?> list ? list : List.of();
        StringBuilder kinds = new StringBuilder("M".repeat(layers));
        for (Object index : indices) {
            if (index instanceof Number number && number.longValue() >= 0 && number.longValue() < layers) {
                kinds.setCharAt(number.intValue(), '*');
            }
        }
        return kinds.toString();
    }

    /** Blocks that several layers share lie with the first of them, so that hybrid layers differ. */
    private static String listed(Object types, int layers) {
        if (!(types instanceof List<?> list) || list.size() != layers) {
            return "";
        }
        List<Object> known = new ArrayList<>();
        StringBuilder kinds = new StringBuilder();
        for (Object type : list) {
            if (!known.contains(type)) {
                known.add(type);
            }
            kinds.append("hybrid".equals(type) ? ALONE : (char) ('A' + known.indexOf(type)));
        }
        return kinds.toString();
    }

    private static String periodic(Map<String, Object> config, int layers) {
        StringBuilder kinds = new StringBuilder();
        for (int layer = 0; layer < layers; layer++) {
            boolean attention = isOne(config, "attn_layer", layer);
            boolean experts = isOne(config, "expert_layer", layer);
            kinds.append((char) ('A' + (attention ? 2 : 0) + (experts ? 1 : 0)));
        }
        return kinds.toString();
    }

    private static boolean isOne(Map<String, Object> config, String what, int layer) {
        long period = Math.max(1, AttentionSizes.number(config, what + "_period", 1));
        return layer % period == AttentionSizes.number(config, what + "_offset", 0);
    }
}
