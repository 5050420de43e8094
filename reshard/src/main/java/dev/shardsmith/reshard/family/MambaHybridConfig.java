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
import java.util.Optional;
import java.util.Set;

/** The {@code config.json} of mamba_ssm and Megatron's saved options for the same hybrid model, each made from the other. */
public final class MambaHybridConfig {
    private static final double EPSILON = 1e-5;

    private MambaHybridConfig() {}

    /** What keeps a Megatron model from being one of mamba_ssm, in words; empty if nothing does. */
    public static List<String> obstacles(MegatronArgs args, String pattern, Map<String, Shape> shapes) {
        List<String> obstacles = new ArrayList<>();
        Optional<MambaHybrid> hybrid = MambaHybrid.of(pattern);
        if (hybrid.isEmpty()) {
            obstacles.add("the pattern " + pattern
                    + ", because its blocks have a mixer (M or *) and an MLP (-) in all of them or in none");
        }
        if (pattern.contains("-") && !args.flag("swiglu", false)) {
            obstacles.add("MLPs without a gate (no swiglu)");
        }
        if (pattern.contains("-") && args.integer("ffn_hidden_size", 0) % MambaRules.MLP_MULTIPLE != 0) {
            obstacles.add("MLPs of " + args.integer("ffn_hidden_size", 0) + " channels, which is no multiple of 128");
        }
        if (args.flag("apply_layernorm_1p", false)) {
            obstacles.add("norms whose weight is stored minus 1 (apply_layernorm_1p)");
        }
        if (!args.text("normalization").orElse("RMSNorm").equals("RMSNorm")) {
            obstacles.add(
                    "norms that are no RMSNorm (" + args.text("normalization").orElse("") + ")");
        }
        long hidden = args.integer("hidden_size", 0);
        if (pattern.contains("M") && (hidden == 0 || inner(args, shapes) % hidden != 0)) {
            obstacles.add(inner(args, shapes) + " inner channels, which is no multiple of d_model " + hidden);
        }
        if (MegatronName.anyHas(shapes, "mixer.in_proj.bias") != MegatronName.anyHas(shapes, "mixer.out_proj.bias")) {
            obstacles.add("a bias on one of a mixer's projections alone");
        }
        return obstacles;
    }

    /** What mamba_ssm would compute differently although the weights fit, in words. */
    public static List<String> differences(MegatronArgs args) {
        double epsilon = args.normEpsilon();
        return epsilon == EPSILON ? List.of() : List.of("norms with an epsilon of " + epsilon + "; mamba_ssm has 1e-5");
    }

    private static long inner(MegatronArgs args, Map<String, Shape> shapes) {
        return shapes.entrySet().stream()
                .filter(entry -> entry.getKey().endsWith("mixer.out_proj.weight"))
                .mapToLong(entry -> entry.getValue().size(1))
                .findFirst()
                .orElse(2 * args.integer("hidden_size", 0));
    }

    /**
     * The config of mamba_ssm for a Megatron model without obstacles.
     *
     * @param shapes undivided shapes by Megatron's names
     */
    public static MambaConfig config(MegatronArgs args, MambaHybrid hybrid, Map<String, Shape> shapes, boolean tied) {
        long hidden = args.integer("hidden_size", 0);
        Map<String, Object> ssm = new LinkedHashMap<>();
        ssm.put("layer", "Mamba2");
        ssm.put("d_state", args.integer("mamba_state_dim", 128));
        ssm.put("headdim", args.integer("mamba_head_dim", 64));
        ssm.put("ngroups", args.integer("mamba_num_groups", 8));
        ssm.put("expand", hidden == 0 ? 2L : inner(args, shapes) / hidden);
        ssm.put("chunk_size", args.integer("mamba_chunk_size", 128));
        if (MegatronName.anyHas(shapes, "mixer.in_proj.bias")) {
            ssm.put("bias", true);
        }
        Map<String, Object> attention = new LinkedHashMap<>();
        Optional<AttentionSizes> sizes = AttentionSizes.of(args);
        if (!hybrid.attention().isEmpty() && sizes.isPresent()) {
            attention.put("num_heads", sizes.get().heads());
            attention.put("num_heads_kv", sizes.get().groups());
            attention.put("head_dim", sizes.get().headDim());
            attention.put("causal", true);
            attention.put("qkv_proj_bias", MegatronName.anyHas(shapes, "linear_qkv.bias"));
            attention.put("out_proj_bias", MegatronName.anyHas(shapes, "linear_proj.bias"));
            if (args.text("position_embedding_type").orElse("none").equals("rope")) {
                double share = args.real("rotary_percent").orElse(1.0);
                attention.put("rotary_emb_dim", (long) (sizes.get().headDim() * share));
                attention.put("rotary_emb_base", args.real("rotary_base").orElse(10000));
            }
        }
        Shape embedding = shapes.get("embedding.word_embeddings.weight");
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("d_model", hidden);
        fields.put("d_intermediate", hybrid.pattern().contains("-") ? args.integer("ffn_hidden_size", 0) : 0L);
        fields.put("n_layer", (long) hybrid.count());
        fields.put("vocab_size", embedding == null ? 0L : embedding.size(0));
        fields.put("ssm_cfg", ssm);
        fields.put("attn_layer_idx", hybrid.attention());
        fields.put("attn_cfg", attention);
        fields.put("rms_norm", true);
        fields.put("residual_in_fp32", args.flag("fp32_residual_connection", false));
        fields.put("fused_add_norm", true);
        fields.put("pad_vocab_size_multiple", 1L);
        fields.put("tie_embeddings", tied);
        return new MambaConfig(fields);
    }

    /** What keeps a model of mamba_ssm from being one of Megatron, in words; empty if nothing does. */
    public static List<String> obstacles(MambaConfig config, Set<String> names) {
        List<String> obstacles = new ArrayList<>();
        if (!config.isComplete()) {
            obstacles.add("a model without config.json");
            return obstacles;
        }
        if (names.stream().anyMatch(name -> name.endsWith("mixer.x_proj.weight"))) {
            obstacles.add("Mamba-1 layers");
        }
        if (names.stream().anyMatch(name -> name.endsWith("mixer.B_bias"))) {
            obstacles.add("Mamba-3 layers");
        }
        if (config.scanChannels() != config.inner()) {
            obstacles.add("channels that bypass the scan (d_ssm)");
        }
        for (String flag : List.of("D_has_hdim", "norm_before_gate")) {
            if (Boolean.TRUE.equals(config.ssm(flag))) {
                obstacles.add(flag);
            }
        }
        if (Boolean.FALSE.equals(config.ssm("rmsnorm"))) {
            obstacles.add("mixers without a norm (rmsnorm false)");
        }
        if (Boolean.FALSE.equals(config.fields().get("rms_norm"))) {
            obstacles.add("LayerNorm (rms_norm false)");
        }
        if (!config.attentionLayers().isEmpty()) {
            if (!Boolean.TRUE.equals(config.attention("causal"))) {
                obstacles.add("attention that is not causal");
            }
            if (config.attentionMlpChannels() > 0) {
                obstacles.add("MLPs inside attention (mlp_dim)");
            }
            if (config.attention("d_conv") instanceof Number kernel && kernel.longValue() > 0) {
                obstacles.add("convolutions in attention (d_conv)");
            }
        }
        return obstacles;
    }

    /** State with the options that a Megatron run of a mamba_ssm model would have saved. */
    public static ModelState state(MambaConfig config, String pattern, Map<String, Shape> shapes) {
        Map<String, PyValue> fields = new LinkedHashMap<>();
        fields.put("num_layers", PyInt.of(pattern.length()));
        fields.put("hidden_size", PyInt.of(config.width()));
        fields.put("ffn_hidden_size", PyInt.of(config.mlpChannels() > 0 ? config.mlpChannels() : 4 * config.width()));
        long heads = Math.max(1, config.attentionHeads());
        fields.put("num_attention_heads", PyInt.of(heads));
        fields.put("group_query_attention", PyBool.TRUE);
        fields.put("num_query_groups", PyInt.of(heads / config.queriesPerKey()));
        fields.put("kv_channels", PyInt.of(config.attentionHeadDim()));
        fields.put("mamba_state_dim", PyInt.of(config.states()));
        fields.put("mamba_head_dim", PyInt.of(config.headDim()));
        fields.put("mamba_num_groups", PyInt.of(config.groups()));
        fields.put("mamba_num_heads", PyInt.of(config.inner() / Math.max(1, config.headDim())));
        fields.put("is_hybrid_model", PyBool.TRUE);
        fields.put("hybrid_layer_pattern", new PyStr(pattern));
        fields.put("hybrid_override_pattern", PyNone.NONE);
        for (String size : new String[] {
            "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "world_size"
        }) {
            fields.put(size, PyInt.of(1));
        }
        fields.put("virtual_pipeline_model_parallel_size", PyNone.NONE);
        fields.put("expert_tensor_parallel_size", PyNone.NONE);
        fields.put("sequence_parallel", PyBool.FALSE);
        fields.put("swiglu", PyBool.TRUE);
        fields.put("squared_relu", PyBool.FALSE);
        fields.put("add_bias_linear", PyBool.of(MegatronName.anyHas(shapes, "linear_proj.bias")));
        fields.put("add_qkv_bias", PyBool.of(MegatronName.anyHas(shapes, "linear_qkv.bias")));
        fields.put("normalization", new PyStr("RMSNorm"));
        fields.put("norm_epsilon", new PyFloat(EPSILON));
        boolean rotary = config.attention("rotary_emb_dim") instanceof Number dim && dim.longValue() > 0;
        fields.put("position_embedding_type", new PyStr(rotary ? "rope" : "none"));
        if (rotary) {
            double rotated = ((Number) config.attention("rotary_emb_dim")).doubleValue();
            fields.put("rotary_percent", new PyFloat(rotated / Math.max(1, config.attentionHeadDim())));
            double base = config.attention("rotary_emb_base") instanceof Number given ? given.doubleValue() : 10000;
            fields.put("rotary_base", new PyFloat(base));
        }
        fields.put("add_position_embedding", PyBool.FALSE);
        Shape embedding = shapes.get("embedding.word_embeddings.weight");
        fields.put("vocab_size", embedding == null ? PyNone.NONE : PyInt.of(embedding.size(0)));
        fields.put("padded_vocab_size", embedding == null ? PyNone.NONE : PyInt.of(embedding.size(0)));
        fields.put("make_vocab_size_divisible_by", PyNone.NONE);
        fields.put("untie_embeddings_and_output_weights", PyBool.of(!config.tied()));
        boolean wide = Boolean.TRUE.equals(config.fields().getOrDefault("residual_in_fp32", true));
        fields.put("fp32_residual_connection", PyBool.of(wide));
        fields.put("ckpt_format", new PyStr("torch"));
        fields.put("iteration", PyInt.of(0));
        Map<String, PyValue> entries = new LinkedHashMap<>();
        entries.put("args", MegatronArgs.create(fields).node());
        entries.put("checkpoint_version", new PyFloat(3.0));
        entries.put("iteration", PyInt.of(0));
        return new ModelState(entries, new LinkedHashMap<>());
    }
}
