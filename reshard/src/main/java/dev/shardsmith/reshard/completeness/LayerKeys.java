package dev.shardsmith.reshard.completeness;

import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The parameters that a layer of each kind cannot do without.
 *
 * <p>A bar separates names that mean the same, in releases or with layer implementations that spell them differently.
 */
public final class LayerKeys {
    private static final String MAMBA = """
            mixer.in_proj.layer_norm_weight|norm.weight
            mixer.in_proj.weight
            mixer.conv1d_weight|mixer.conv1d.weight
            mixer.dt_bias|mixer.dt_proj.bias
            mixer.A_log
            mixer.norm.weight|mixer.x_proj.weight
            mixer.out_proj.weight
            """;
    private static final String ATTENTION = """
            self_attention.linear_qkv.layer_norm_weight|input_layernorm.weight
            self_attention.linear_qkv.weight
            self_attention.linear_proj.weight
            """;
    private static final String LATENT = """
            self_attention.linear_kv_up_proj.weight|self_attention.linear_k_up_proj.weight
            self_attention.linear_kv_down_proj.weight|self_attention.linear_qkv_down_proj.weight
            input_layernorm.weight|self_attention.linear_qkv_down_proj.layer_norm_weight
            self_attention.linear_q_up_proj.weight|self_attention.linear_q_proj.weight
            self_attention.linear_proj.weight
            """;
    private static final String SPARSE = """
            self_attention.core_attention.indexer.linear_wq_b.weight
            self_attention.core_attention.indexer.linear_wk.weight
            self_attention.core_attention.indexer.linear_weights_proj.weight
            """;
    private static final String GATED_DELTA = """
            self_attention.in_proj.layer_norm_weight|input_layernorm.weight
            self_attention.in_proj.weight
            self_attention.conv1d.weight
            self_attention.dt_bias
            self_attention.A_log
            self_attention.out_norm.weight
            self_attention.out_proj.weight
            """;
    private static final String MLP = """
            mlp.linear_fc1.layer_norm_weight|pre_mlp_layernorm.weight
            mlp.linear_fc1.weight
            mlp.linear_fc2.weight
            """;
    private static final String EXPERTS = """
            pre_mlp_layernorm.weight
            mlp.router.weight
            """;
    private static final String PREDICTION = """
            enorm.weight
            hnorm.weight
            eh_proj.weight
            final_layernorm.weight
            """;

    /** Of the parts that mix tokens by attention, the plain one first: it is taken where keys fit several alike. */
    private static final List<LayerKind> ATTENTIONS =
            List.of(LayerKind.ATTENTION, LayerKind.LATENT_ATTENTION, LayerKind.SPARSE_ATTENTION, LayerKind.GATED_DELTA);

    private static final Map<LayerKind, List<List<String>>> REQUIRED = required();
    private static final Map<LayerKind, Map<String, String>> MEANINGS = meanings();

    /** Parameters of which a layer has all or none. */
    private static final List<List<String>> TOGETHER = groups("""
            mlp.shared_experts.linear_fc1.weight|mlp.shared_experts.linear_fc2.weight
            mlp.shared_experts.linear_fc1.bias|mlp.shared_experts.linear_fc2.bias
            mlp.fc1_latent_proj.weight|mlp.fc2_latent_proj.weight
            mlp.linear_fc1.bias|mlp.linear_fc2.bias
            """);

    private static final Set<String> HIDDEN_NORMS = Set.of(
            "norm.weight",
            "mixer.in_proj.layer_norm_weight",
            "input_layernorm.weight",
            "self_attention.linear_qkv.layer_norm_weight",
            "self_attention.in_proj.layer_norm_weight",
            "pre_mlp_layernorm.weight",
            "mlp.linear_fc1.layer_norm_weight",
            "decoder.final_norm.weight",
            "decoder.final_layernorm.weight");

    private LayerKeys() {}

    /** Groups of names, of each of which one must be there. */
    public static List<List<String>> required(LayerKind kind) {
        return REQUIRED.get(kind);
    }

    /** The first of the names that mean the same as this one, in a layer of a kind: one for both spellings of a norm. */
    static String meaning(LayerKind kind, String suffix) {
        return MEANINGS.get(kind).getOrDefault(suffix, suffix);
    }

    /**
     * The kinds of part that a layer has most likely, even if it lacks the key that would decide it.
     *
     * @param suffixes the layer's keys that the family knows
     */
    static List<LayerKind> likely(Collection<String> suffixes) {
        List<LayerKind> kinds = new ArrayList<>();
        if (suffixes.stream().anyMatch(suffix -> suffix.startsWith("mixer."))) {
            kinds.add(LayerKind.MAMBA);
        }
        if (suffixes.stream().anyMatch(suffix -> suffix.startsWith("self_attention."))) {
            attention(suffixes).ifPresent(kinds::add);
        }
        if (suffixes.stream().anyMatch(suffix -> kindsOf(suffix).equals(List.of(LayerKind.EXPERTS)))) {
            kinds.add(LayerKind.EXPERTS);
        } else if (suffixes.stream().anyMatch(suffix -> suffix.startsWith("mlp."))) {
            kinds.add(LayerKind.MLP);
        }
        return kinds;
    }

    /** Whether at least half of what a kind requires is there, so that its keys are no strays in a layer of another kind. */
    static boolean isMostly(LayerKind kind, Collection<String> suffixes) {
        List<List<String>> groups = required(kind);
        long found = groups.stream()
                .filter(group -> group.stream().anyMatch(suffixes::contains))
                .count();
        return 2 * found >= groups.size();
    }

    /** The kind of attention of which most required keys are there. */
    private static Optional<LayerKind> attention(Collection<String> suffixes) {
        Optional<LayerKind> likeliest = Optional.empty();
        long most = 0;
        for (LayerKind kind : ATTENTIONS) {
            long found = required(kind).stream()
                    .filter(group -> group.stream().anyMatch(suffixes::contains))
                    .count();
            if (found > most) {
                most = found;
                likeliest = Optional.of(kind);
            }
        }
        return likeliest;
    }

    /** What a prediction block needs besides its layers. */
    public static List<List<String>> prediction() {
        return groups(PREDICTION);
    }

    /** The kinds of layer that a parameter can belong to; empty if it could be of any. */
    public static List<LayerKind> kindsOf(String suffix) {
        if (suffix.startsWith("mixer.")) {
            return List.of(LayerKind.MAMBA);
        }
        if (suffix.startsWith("mlp.router.") || suffix.startsWith("mlp.experts.") || suffix.startsWith("mlp.shared_")) {
            return List.of(LayerKind.EXPERTS);
        }
        if (suffix.startsWith("mlp.")) {
            return List.of(LayerKind.MLP, LayerKind.EXPERTS);
        }
        if (suffix.startsWith("self_attention.linear_qkv.")) {
            return List.of(LayerKind.ATTENTION);
        }
        if (suffix.startsWith("self_attention.linear_kv_")
                || suffix.startsWith("self_attention.linear_qkv_down_")
                || suffix.startsWith("self_attention.linear_q_")) {
            return List.of(LayerKind.LATENT_ATTENTION, LayerKind.SPARSE_ATTENTION);
        }
        if (suffix.startsWith("self_attention.")) {
            return List.of(
                    LayerKind.ATTENTION, LayerKind.GATED_DELTA, LayerKind.LATENT_ATTENTION, LayerKind.SPARSE_ATTENTION);
        }
        return List.of();
    }

    private static Map<LayerKind, List<List<String>>> required() {
        Map<LayerKind, List<List<String>>> required = new EnumMap<>(LayerKind.class);
        for (LayerKind kind : LayerKind.values()) {
            required.put(
                    kind,
                    groups(
                            switch (kind) {
                                case MAMBA -> MAMBA;
                                case ATTENTION -> ATTENTION;
                                case LATENT_ATTENTION -> LATENT;
                                case SPARSE_ATTENTION -> LATENT + SPARSE;
                                case GATED_DELTA -> GATED_DELTA;
                                case MLP -> MLP;
                                case EXPERTS -> EXPERTS;
                            }));
        }
        return required;
    }

    /** Biases are spelled as their weights are. */
    private static Map<LayerKind, Map<String, String>> meanings() {
        Map<LayerKind, Map<String, String>> meanings = new EnumMap<>(LayerKind.class);
        REQUIRED.forEach((kind, groups) -> {
            Map<String, String> first = new LinkedHashMap<>();
            for (List<String> group : groups) {
                for (String name : group) {
                    first.put(name, group.get(0));
                    first.put(bias(name), bias(group.get(0)));
                }
            }
            meanings.put(kind, first);
        });
        return meanings;
    }

    /** Groups of parameters of which a layer has all or none. */
    static List<List<String>> together() {
        return TOGETHER;
    }

    /** Whether a parameter is the weight of a norm over the hidden channels, in front of a part of a layer or behind all. */
    static boolean isHiddenNorm(String suffix) {
        return HIDDEN_NORMS.contains(suffix);
    }

    static String bias(String weight) {
        return weight.replaceFirst("weight$", "bias");
    }

    private static List<List<String>> groups(String table) {
        List<List<String>> groups = new ArrayList<>();
        table.lines().forEach(line -> groups.add(List.of(line.strip().split("\\|"))));
        return groups;
    }
}
