package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** NemotronH's {@code config.json} and Megatron's saved options, each made from the other. */
public final class NemotronConfig {
    private static final String OUTPUT = "output_layer.weight";

    private NemotronConfig() {}

    /** State with the options that a Megatron run of this model would have saved. */
    public static ModelState state(Map<String, Object> config, NemotronLayers layers, Map<String, Shape> shapes) {
        Map<String, PyValue> fields = new LinkedHashMap<>();
        fields.put("num_layers", PyInt.of(layers.main().length()));
        copy(config, "hidden_size", fields, "hidden_size");
        copy(config, "intermediate_size", fields, "ffn_hidden_size");
        copy(config, "num_attention_heads", fields, "num_attention_heads");
        fields.put("group_query_attention", PyBool.TRUE);
        copy(config, "num_key_value_heads", fields, "num_query_groups");
        AttentionSizes.of(config).ifPresent(sizes -> fields.put("kv_channels", PyInt.of(sizes.headDim())));
        copy(config, "ssm_state_size", fields, "mamba_state_dim");
        copy(config, "mamba_head_dim", fields, "mamba_head_dim");
        copy(config, "n_groups", fields, "mamba_num_groups");
        copy(config, "mamba_num_heads", fields, "mamba_num_heads");
        fields.put("is_hybrid_model", PyBool.TRUE);
        fields.put("hybrid_layer_pattern", new PyStr(layers.pattern()));
        fields.put("hybrid_override_pattern", PyNone.NONE);
        if (layers.depths() > 0) {
            fields.put("mtp_num_layers", PyInt.of(layers.depths()));
            boolean several = shapes.keySet().stream()
                    .anyMatch(name -> MegatronName.parse(name).depth().orElse(0) > 0);
            fields.put("mtp_use_repeated_layer", PyBool.of(layers.depths() > 1 && !several));
        }
        for (String size : new String[] {
            "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "world_size"
        }) {
            fields.put(size, PyInt.of(1));
        }
        fields.put("virtual_pipeline_model_parallel_size", PyNone.NONE);
        fields.put("expert_tensor_parallel_size", PyNone.NONE);
        fields.put("sequence_parallel", PyBool.FALSE);
        fields.put("swiglu", PyBool.FALSE);
        fields.put("squared_relu", PyBool.of(activation(config).equals("relu2")));
        boolean bias = MegatronName.anyHas(shapes, "mlp.linear_fc1.bias")
                || MegatronName.anyHas(shapes, "self_attention.linear_proj.bias");
        fields.put("add_bias_linear", PyBool.of(bias));
        fields.put("add_qkv_bias", PyBool.of(!bias && MegatronName.anyHas(shapes, "self_attention.linear_qkv.bias")));
        fields.put("normalization", new PyStr("RMSNorm"));
        double epsilon = config.get("layer_norm_epsilon") instanceof Number given ? given.doubleValue() : 1e-5;
        fields.put("norm_epsilon", new PyFloat(epsilon));
        fields.put("position_embedding_type", new PyStr("none"));
        fields.put("add_position_embedding", PyBool.FALSE);
        copy(config, "max_position_embeddings", fields, "max_position_embeddings");
        copy(config, "vocab_size", fields, "vocab_size");
        Shape embedding = shapes.get("embedding.word_embeddings.weight");
        fields.put("padded_vocab_size", embedding == null ? PyNone.NONE : PyInt.of(embedding.size(0)));
        fields.put("make_vocab_size_divisible_by", PyNone.NONE);
        // A head of its own is one, whatever the config says.
        boolean tied = Boolean.TRUE.equals(config.get("tie_word_embeddings")) && !shapes.containsKey(OUTPUT);
        fields.put("untie_embeddings_and_output_weights", PyBool.of(!tied));
        copy(config, "chunk_size", fields, "mamba_chunk_size");
        if (layers.has('E')) {
            copy(config, "n_routed_experts", fields, "num_experts");
            copy(config, "moe_intermediate_size", fields, "moe_ffn_hidden_size");
            copy(config, "moe_shared_expert_intermediate_size", fields, "moe_shared_expert_intermediate_size");
            copy(config, "moe_latent_size", fields, "moe_latent_size");
            copy(config, "num_experts_per_tok", fields, "moe_router_topk");
            boolean grouped = AttentionSizes.number(config, "n_group", 1) > 1;
            copy(grouped ? config : Map.of(), "n_group", fields, "moe_router_num_groups");
            copy(grouped ? config : Map.of(), "topk_group", fields, "moe_router_group_topk");
            fields.put(
                    "moe_router_topk_scaling_factor",
                    config.get("routed_scaling_factor") instanceof Number factor
                            ? new PyFloat(factor.doubleValue())
                            : PyNone.NONE);
            fields.put("moe_grouped_gemm", PyBool.TRUE);
            fields.put("moe_router_enable_expert_bias", PyBool.TRUE);
            fields.put("moe_router_score_function", new PyStr("sigmoid"));
        }
        fields.put("ckpt_format", new PyStr("torch"));
        fields.put("iteration", PyInt.of(0));
        Map<String, PyValue> entries = new LinkedHashMap<>();
        entries.put("args", MegatronArgs.create(fields).node());
        entries.put("checkpoint_version", new PyFloat(3.0));
        entries.put("iteration", PyInt.of(0));
        return new ModelState(entries, new LinkedHashMap<>());
    }

    /**
     * The config of a Megatron model.
     *
     * @param shapes undivided shapes by canonical name
     * @param dtype PyTorch's name of the weights' element type
     */
    public static Map<String, Object> config(
            MegatronArgs args, NemotronLayers layers, Map<String, Shape> shapes, boolean tied, String dtype) {
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("architectures", List.of("NemotronHForCausalLM"));
        config.put("model_type", "nemotron_h");
        config.put("dtype", dtype);
        Shape embedding = shapes.get("embedding.word_embeddings.weight");
        config.put("vocab_size", embedding == null ? 0L : embedding.size(0));
        config.put("hidden_size", args.integer("hidden_size", 0));
        config.put("num_hidden_layers", (long) layers.main().length());
        config.put("hybrid_override_pattern", layers.main());
        config.put("layers_block_type", NemotronLayers.types(layers.main()));
        if (layers.depths() > 0) {
            config.put("num_nextn_predict_layers", (long) layers.depths());
            config.put("mtp_hybrid_override_pattern", layers.prediction());
            config.put("mtp_layers_block_type", NemotronLayers.types(layers.prediction()));
        }
        config.put("intermediate_size", args.integer("ffn_hidden_size", 0));
        AttentionSizes.of(args).ifPresent(sizes -> {
            config.put("num_attention_heads", sizes.heads());
            config.put("num_key_value_heads", sizes.groups());
            config.put("head_dim", sizes.headDim());
        });
        long headDim = args.integer("mamba_head_dim", 64);
        config.put("ssm_state_size", args.integer("mamba_state_dim", 128));
        config.put("mamba_head_dim", headDim);
        config.put("mamba_num_heads", args.integer("mamba_num_heads", 2 * args.integer("hidden_size", 0) / headDim));
        config.put("n_groups", args.integer("mamba_num_groups", 8));
        config.put("conv_kernel", convolution(shapes));
        config.put("chunk_size", args.integer("mamba_chunk_size", 128));
        config.put("expand", 2L);
        config.put("use_conv_bias", convolutionBias(shapes) || !layers.has('M'));
        boolean projections = MegatronName.anyHas(shapes, "mixer.in_proj.bias");
        config.put("use_bias", projections);
        config.put("mamba_proj_bias", projections);
        config.put("mlp_bias", MegatronName.anyHas(shapes, "mlp.linear_fc1.bias"));
        config.put("attention_bias", MegatronName.anyHas(shapes, "self_attention.linear_qkv.bias"));
        config.put("mlp_hidden_act", args.flag("squared_relu", true) ? "relu2" : "gelu");
        config.put("mamba_hidden_act", "silu");
        config.put("layer_norm_epsilon", args.normEpsilon());
        config.put("residual_in_fp32", args.flag("fp32_residual_connection", false));
        config.put("tie_word_embeddings", tied);
        config.put("max_position_embeddings", args.integer("max_position_embeddings", 4096));
        if (layers.has('E')) {
            config.put("n_routed_experts", args.integer("num_experts", 0));
            config.put("moe_intermediate_size", args.integer("moe_ffn_hidden_size", 0));
            long shared = args.integer("moe_shared_expert_intermediate_size", 0);
            config.put("moe_shared_expert_intermediate_size", shared);
            config.put("n_shared_experts", shared > 0 ? 1L : 0L);
            config.put("num_experts_per_tok", args.integer("moe_router_topk", 1));
            config.put(
                    "moe_latent_size",
                    args.integer("moe_latent_size").isPresent() ? args.integer("moe_latent_size", 0) : null);
            config.put("n_group", args.integer("moe_router_num_groups", 1));
            config.put("topk_group", args.integer("moe_router_group_topk", 1));
            config.put(
                    "routed_scaling_factor",
                    args.real("moe_router_topk_scaling_factor").orElse(1.0));
            config.put("norm_topk_prob", args.integer("moe_router_topk", 1) > 1);
        }
        return config;
    }

    /** What keeps a Megatron model from being a NemotronH at all, in words; empty if nothing does. */
    public static List<String> obstacles(MegatronArgs args, NemotronLayers layers) {
        List<String> obstacles = new ArrayList<>();
        for (char symbol : (layers.main() + layers.prediction()).toCharArray()) {
            if ("M*-E".indexOf(symbol) < 0) {
                obstacles.add("layers of kind " + symbol);
                break;
            }
        }
        if ((layers.has('-') || layers.has('E')) && args.flag("swiglu", false)) {
            obstacles.add("gated MLPs (swiglu); NemotronH's are not gated");
        }
        if (args.flag("apply_layernorm_1p", false)) {
            obstacles.add("norms whose weight is stored minus 1 (apply_layernorm_1p)");
        }
        return obstacles;
    }

    /**
     * The least time step, to which transformers raises shorter ones; 0.001 where the config has none. The older of its two names goes
     * first, and {@code time_step_limit} is not read.
     */
    static double leastTimeStep(Map<String, Object> config) {
        for (String name : new String[] {"mamba_dt_min", "time_step_min"}) {
            if (config.get(name) instanceof Number least) {
                return least.doubleValue();
            }
        }
        return 0.001;
    }

    /** The activation of MLPs and experts. */
    static String activation(Map<String, Object> config) {
        return config.get("mlp_hidden_act") instanceof String name ? name : "relu2";
    }

    /** True if convolutions have a bias, under either of its names. */
    static boolean convolutionBias(Map<String, Shape> shapes) {
        return MegatronName.anyHas(shapes, "mixer.conv1d.bias") || MegatronName.anyHas(shapes, "mixer.conv1d_bias");
    }

    /** Length of the convolution of Mamba layers. */
    static long convolution(Map<String, Shape> shapes) {
        for (Map.Entry<String, Shape> entry : shapes.entrySet()) {
            Shape shape = entry.getValue();
            if (entry.getKey().matches(".+\\.mixer\\.conv1d[._]weight") && shape.rank() == 3) {
                return shape.size(2);
            }
        }
        return 4;
    }

    private static void copy(Map<String, Object> config, String key, Map<String, PyValue> fields, String field) {
        fields.put(field, config.get(key) instanceof Number number ? PyInt.of(number.longValue()) : PyNone.NONE);
    }
}
