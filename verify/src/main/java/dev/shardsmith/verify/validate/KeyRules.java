package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.ArrayList;
import java.util.List;

/**
 * The parameters that a layer of each kind cannot do without.
 *
 * <p>A bar separates names that mean the same, in releases or with layer implementations that spell them differently.
 */
final class KeyRules {
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
            self_attention.linear_q_proj.weight|self_attention.linear_q_up_proj.weight
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

    private KeyRules() {}

    /** Groups of names, of each of which one must be there. */
    static List<List<String>> required(LayerKind kind) {
        return switch (kind) {
            case MAMBA -> groups(MAMBA);
            case ATTENTION -> groups(ATTENTION);
            case LATENT_ATTENTION -> groups(LATENT);
            case SPARSE_ATTENTION -> groups(LATENT + SPARSE);
            case GATED_DELTA -> groups(GATED_DELTA);
            case MLP -> groups(MLP);
            case EXPERTS -> groups(EXPERTS);
        };
    }

    /** What a prediction block needs besides its layers. */
    static List<List<String>> prediction() {
        return groups(PREDICTION);
    }

    /** The kinds of layer that a parameter can belong to; empty if it could be of any. */
    static List<LayerKind> kindsOf(String suffix) {
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

    private static List<List<String>> groups(String table) {
        List<List<String>> groups = new ArrayList<>();
        table.lines().forEach(line -> groups.add(List.of(line.strip().split("\\|"))));
        return groups;
    }
}
