package dev.shardsmith.verify.family;

import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.GatedDeltaMixer;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Options of a checkpoint that change what its layers compute and that no forward pass here follows: the layers that they
 * act on are not run, and are reported so.
 *
 * <p>An option that is not listed here is one that is followed, or one that changes no result.
 */
final class UnfollowedOptions {
    /** What an option acts on. */
    private enum Part {
        MODEL,
        ATTENTION,
        MLP,
        EXPERTS,
        MAMBA,
        GATED_DELTA
    }

    /**
     * An option.
     *
     * @param harmless values that change nothing; an absent one never does
     */
    private record Rule(Part part, String option, Predicate<Object> harmless) {}

    private static final Predicate<Object> NEVER = value -> false;
    private static final Predicate<Object> OFF = value -> value.equals(false);
    private static final Predicate<Object> SILU = among("silu", "swish");
    private static final Predicate<Object> UNSCALED = among("default");

    private static final List<Rule> MEGATRON = List.of(
            new Rule(Part.MODEL, "apply_residual_connection_post_layernorm", OFF),
            new Rule(Part.MODEL, "use_mup", OFF),
            new Rule(Part.MODEL, "enable_mhc_connections", OFF),
            new Rule(Part.MODEL, "heterogeneous_block_specs", OFF),
            new Rule(Part.MODEL, "heterogeneous_layers_config_path", NEVER),
            new Rule(Part.MODEL, "normalization", among("LayerNorm", "RMSNorm")),
            new Rule(Part.ATTENTION, "position_embedding_type", among("rope", "none", "learned_absolute")),
            new Rule(Part.ATTENTION, "use_rope_scaling", OFF),
            new Rule(Part.ATTENTION, "rotary_seq_len_interpolation_factor", number(1)),
            new Rule(Part.ATTENTION, "no_rope_freq", NEVER),
            new Rule(Part.ATTENTION, "mrope_section", NEVER),
            new Rule(Part.ATTENTION, "window_size", UnfollowedOptions::isUnlimited),
            new Rule(Part.ATTENTION, "softmax_type", among("vanilla")),
            new Rule(Part.ATTENTION, "qk_l2_norm", OFF),
            new Rule(Part.ATTENTION, "experimental_attention_variant", among("gated_delta_net", "gdn")),
            // The activation of the MLPs is that of gated delta nets too.
            new Rule(Part.GATED_DELTA, "swiglu", among(true)),
            new Rule(Part.MLP, "quick_geglu", OFF),
            new Rule(Part.MLP, "openai_gelu", OFF),
            new Rule(Part.MLP, "activation_func_clamp_value", NEVER),
            new Rule(Part.MLP, "glu_linear_offset", number(0)),
            new Rule(Part.EXPERTS, "moe_mlp_glu_interleave_size", NEVER),
            new Rule(Part.EXPERTS, "moe_shared_expert_glu_interleave_size", NEVER),
            new Rule(Part.EXPERTS, "moe_router_score_function", among("softmax", "sigmoid")),
            new Rule(
                    Part.EXPERTS,
                    "moe_router_load_balancing_type",
                    all(among("none", "aux_loss", "seq_aux_loss", "global_aux_loss"))),
            new Rule(Part.EXPERTS, "moe_router_topk_limited_devices", NEVER),
            new Rule(Part.EXPERTS, "moe_router_force_load_balancing", OFF),
            new Rule(Part.EXPERTS, "moe_router_force_biased", NEVER),
            new Rule(Part.EXPERTS, "moe_input_jitter_eps", number(0)),
            new Rule(Part.EXPERTS, "moe_token_dropping", OFF),
            new Rule(Part.EXPERTS, "moe_expert_capacity_factor", UnfollowedOptions::isNegative),
            new Rule(Part.EXPERTS, "moe_expert_rank_capacity_factor", UnfollowedOptions::isNegative),
            new Rule(Part.EXPERTS, "moe_apply_probs_on_input", OFF));

    private static final List<Rule> HUGGING_FACE = List.of(
            new Rule(Part.ATTENTION, "sliding_window", NEVER),
            new Rule(Part.ATTENTION, "attn_logit_softcapping", NEVER),
            new Rule(Part.ATTENTION, "rope_scaling.rope_type", UNSCALED),
            new Rule(Part.ATTENTION, "rope_scaling.type", UNSCALED),
            new Rule(Part.ATTENTION, "rope_parameters.rope_type", UNSCALED),
            new Rule(Part.ATTENTION, "use_long_context", OFF),
            new Rule(Part.MAMBA, "mamba_hidden_act", SILU),
            new Rule(Part.MODEL, "final_logit_softcapping", NEVER),
            new Rule(Part.MODEL, "normalization_function", among("rmsnorm")),
            new Rule(Part.MAMBA, "mamba_inner_layernorms", among(true)));

    /** Models whose Mamba layers take the activation of their MLP. */
    private static final Set<String> ONE_ACTIVATION =
            Set.of("mamba", "falcon_mamba", "mamba2", "bamba", "falcon_h1", "granitemoehybrid", "jamba");

    private static final Set<String> MAMBA_SSM_MIXER = Set.of(
            "layer",
            "d_state",
            "d_conv",
            "conv_init",
            "expand",
            "headdim",
            "d_ssm",
            "ngroups",
            "A_init_range",
            "D_has_hdim",
            "rmsnorm",
            "norm_before_gate",
            "dt_rank",
            "dt_min",
            "dt_max",
            "dt_init",
            "dt_scale",
            "dt_init_floor",
            "dt_limit",
            "bias",
            "conv_bias",
            "chunk_size",
            "use_mem_eff_path",
            "use_fast_path",
            "sequence_parallel",
            "rope_fraction",
            "A_floor",
            "is_mimo",
            "mimo_rank",
            "is_outproj_norm");

    private static final Set<String> MAMBA_SSM_ATTENTION = Set.of(
            "num_heads",
            "num_heads_kv",
            "head_dim",
            "mlp_dim",
            "qkv_proj_bias",
            "out_proj_bias",
            "softmax_scale",
            "causal",
            "d_conv",
            "rotary_emb_base",
            "rotary_emb_dim",
            "rotary_emb_interleaved");

    /** What was found. */
    private record Found(Part part, String reason) {}

    private final List<Found> found = new ArrayList<>();

    private UnfollowedOptions() {}

    /** Those among the arguments of a Megatron-LM run. */
    static UnfollowedOptions megatron(Settings args) {
        return new UnfollowedOptions().take(args, MEGATRON);
    }

    /** Those in the configuration of a Hugging Face model. */
    static UnfollowedOptions huggingFace(Settings config) {
        UnfollowedOptions all = new UnfollowedOptions().take(config, HUGGING_FACE);
        if (config.text("model_type").filter(ONE_ACTIVATION::contains).isPresent()) {
            all.take(config, List.of(new Rule(Part.MAMBA, "hidden_act", SILU)));
        }
        return all;
    }

    /** Those in the configuration of {@code mamba_ssm}, whose modules take few options: any that is not known counts. */
    static UnfollowedOptions mambaSsm(Settings config) {
        UnfollowedOptions all = new UnfollowedOptions();
        all.takeUnknown(config.inside("ssm_cfg"), Part.MAMBA, MAMBA_SSM_MIXER);
        all.takeUnknown(config.inside("attn_cfg"), Part.ATTENTION, MAMBA_SSM_ATTENTION);
        return all;
    }

    private UnfollowedOptions take(Settings settings, List<Rule> rules) {
        for (Rule rule : rules) {
            Optional<Object> value = settings.value(rule.option());
            if (value.isPresent() && !rule.harmless().test(value.get())) {
                add(rule.part(), rule.option(), value.get());
            }
        }
        return this;
    }

    private void takeUnknown(Settings settings, Part part, Set<String> known) {
        for (Map.Entry<String, Object> option : settings.values().entrySet()) {
            if (option.getValue() != null && !known.contains(option.getKey())) {
                add(part, option.getKey(), option.getValue());
            }
        }
    }

    private void add(Part part, String option, Object value) {
        found.add(new Found(part, "the option " + option + " = " + value + ", which is not followed here"));
    }

    /** The model, with the layers that the options act on marked as not run. */
    LayeredModel mark(LayeredModel model) {
        return model.withBlocks(
                model.blocks().stream().map(this::mark).toList(),
                model.predictors().stream().map(this::mark).toList());
    }

    private Block mark(Block block) {
        Set<Part> parts = EnumSet.of(Part.MODEL);
        if (block.shared().isPresent()) {
            parts.addAll(List.of(Part.ATTENTION, Part.MLP));
        }
        block.mixers().forEach(mixer -> parts.addAll(parts(mixer)));
        for (Found option : found) {
            if (parts.contains(option.part())) {
                return block.notRun(option.reason());
            }
        }
        return block;
    }

    private static Set<Part> parts(Mixer mixer) {
        if (mixer instanceof AttentionMixer) {
            return Set.of(Part.ATTENTION);
        }
        if (mixer instanceof MlpMixer) {
            return Set.of(Part.MLP);
        }
        if (mixer instanceof GatedDeltaMixer) {
            return Set.of(Part.GATED_DELTA);
        }
        return mixer instanceof ExpertsMixer ? Set.of(Part.MLP, Part.EXPERTS) : Set.of(Part.MAMBA);
    }

    private static Predicate<Object> among(Object... values) {
        return List.of(values)::contains;
    }

    private static Predicate<Object> all(Predicate<Object> one) {
        return value -> value instanceof List<?> list ? list.stream().allMatch(one) : one.test(value);
    }

    private static Predicate<Object> number(double wanted) {
        return value -> value instanceof Number number && number.doubleValue() == wanted;
    }

    private static boolean isNegative(Object value) {
        return value instanceof Number number && number.doubleValue() < 0;
    }

    /** A window of (-1, -1) is none. */
    private static boolean isUnlimited(Object value) {
        return value instanceof List<?> list && list.stream().allMatch(UnfollowedOptions::isNegative);
    }
}
