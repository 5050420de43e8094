package dev.shardsmith.reshard.family;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The {@code config.json} of a mamba_ssm model, read with the defaults of its sources, and its Hugging Face counterpart.
 *
 * @param fields the twelve fields as parsed
 */
public record MambaConfig(Map<String, Object> fields) {
    /** The field of a Hugging Face config that keeps the config which it was made from; transformers passes over it. */
    public static final String SECTION = "mamba_ssm";

    private static final Map<String, Object> NONE = Map.of();

    /** True if a parsed config is that of mamba_ssm. */
    public static boolean isOne(Map<String, Object> config) {
        return config.containsKey("d_model") && !config.containsKey("model_type");
    }

    private Map<String, Object> section(String key) {
        if (!(fields.get(key) instanceof Map<?, ?> map)) {
            return NONE;
        }
        Map<String, Object> section = new LinkedHashMap<>();
        map.forEach((name, value) -> section.put(String.valueOf(name), value));
        return section;
    }

    /** Groups of B and C. */
    public long groups() {
        return AttentionSizes.number(section("ssm_cfg"), "ngroups", 1);
    }

    /** True if the number of groups is said, or left to the reference's default by a config. */
    boolean knowsGroups() {
        return isComplete() || section("ssm_cfg").containsKey("ngroups");
    }

    /** Channels of a head in the scan. */
    public long headDim() {
        return AttentionSizes.number(section("ssm_cfg"), "headdim", 64);
    }

    /** Query heads for each key and value head of attention layers. */
    public long queriesPerKey() {
        long heads = AttentionSizes.number(section("attn_cfg"), "num_heads", 1);
        return Math.max(1, heads / Math.max(1, AttentionSizes.number(section("attn_cfg"), "num_heads_kv", heads)));
    }

    /** Channels of an attention head. */
    public long attentionHeadDim() {
        long heads = Math.max(1, AttentionSizes.number(section("attn_cfg"), "num_heads", 1));
        return AttentionSizes.number(
                section("attn_cfg"), "head_dim", AttentionSizes.number(fields, "d_model", 0) / heads);
    }

    /** Which share of the states is rotated in Mamba-3. */
    double ropeFraction() {
        return section("ssm_cfg").get("rope_fraction") instanceof Number share ? share.doubleValue() : 0.5;
    }

    /** True if embedding and output layer share their weight, which is the default. */
    public boolean tied() {
        return !Boolean.FALSE.equals(fields.get("tie_embeddings"));
    }

    /** False if there is no config, so that whether the two share their weight is for the files to tell. */
    public boolean saysTied() {
        return isComplete() || fields.containsKey("tie_embeddings");
    }

    /** True if the config says how wide the model is, so that its other fields or their defaults say the rest. */
    boolean isComplete() {
        return width() > 0;
    }

    /** Channels of the residual stream, 0 if it is not said. */
    long width() {
        return AttentionSizes.number(fields, "d_model", 0);
    }

    /** True if the config says how many heads attention layers have. */
    boolean knowsHeads() {
        return AttentionSizes.number(section("attn_cfg"), "num_heads", 0) > 0;
    }

    /** An option of the mixers; null if it is not set. */
    Object ssm(String option) {
        return section("ssm_cfg").get(option);
    }

    /** An option of attention layers; null if it is not set. */
    Object attention(String option) {
        return section("attn_cfg").get(option);
    }

    /** The layers whose mixer is attention. */
    public List<Long> attentionLayers() {
        List<Long> layers = new ArrayList<>();
        if (fields.get("attn_layer_idx") instanceof List<?> indices) {
            indices.forEach(index -> {
                if (index instanceof Number number && number.longValue() >= 0 && number.longValue() < layers()) {
                    layers.add(number.longValue());
                }
            });
        }
        return layers;
    }

    /** Number of layers, 0 if it is not said. */
    public long layers() {
        return AttentionSizes.number(fields, "n_layer", 0);
    }

    /** Inner channels of a mixer; expand may be a fraction. */
    long inner() {
        double expand = section("ssm_cfg").get("expand") instanceof Number factor ? factor.doubleValue() : 2;
        return (long) (expand * AttentionSizes.number(fields, "d_model", 0));
    }

    /** Inner channels that go through the scan of a Mamba-2 mixer. */
    long scanChannels() {
        return AttentionSizes.number(section("ssm_cfg"), "d_ssm", inner());
    }

    /** States of a head. */
    long states() {
        return AttentionSizes.number(section("ssm_cfg"), "d_state", 128);
    }

    /** Channels of the MLPs, 0 if there are none. */
    public long mlpChannels() {
        return roundedUp(AttentionSizes.number(fields, "d_intermediate", 0), MambaRules.MLP_MULTIPLE);
    }

    /** Query heads of attention layers. */
    long attentionHeads() {
        return AttentionSizes.number(section("attn_cfg"), "num_heads", 0);
    }

    /** Channels of the MLP inside an attention layer's projection, 0 if there is none. */
    long attentionMlpChannels() {
        return roundedUp(AttentionSizes.number(section("attn_cfg"), "mlp_dim", 0), 256) / 2;
    }

    /** Rows of the embedding, with padding; 0 if it is not said. */
    long vocabularyRows() {
        return roundedUp(
                AttentionSizes.number(fields, "vocab_size", 0),
                AttentionSizes.number(fields, "pad_vocab_size_multiple", 8));
    }

    private static long roundedUp(long number, long multiple) {
        long step = Math.max(1, multiple);
        return number <= 0 || number > Long.MAX_VALUE - step ? 0 : (number + step - 1) / step * step;
    }

    /** This config as Hugging Face's, with the vocabulary, type and kind of model of another; for comparison. */
    public Map<String, Object> asHuggingFace(Map<String, Object> like) {
        return huggingFace(
                AttentionSizes.number(like, "vocab_size", 0),
                String.valueOf(like.get("dtype")),
                "mamba2".equals(like.get("model_type")),
                new ArrayList<>());
    }

    /** The Hugging Face config of a Mamba or Mamba2 model, or what keeps it from being one. */
    public Map<String, Object> huggingFace(long vocabulary, String dtype, boolean mamba2, List<String> obstacles) {
        Map<String, Object> ssm = section("ssm_cfg");
        if (fields.get("attn_layer_idx") instanceof List<?> layers && !layers.isEmpty()) {
            obstacles.add("attention layers");
        }
        if (AttentionSizes.number(fields, "d_intermediate", 0) > 0) {
            obstacles.add("MLPs (d_intermediate)");
        }
        if (Boolean.FALSE.equals(fields.get("rms_norm"))) {
            obstacles.add("LayerNorm (rms_norm false)");
        }
        for (String flag : new String[] {"norm_before_gate", "D_has_hdim"}) {
            if (Boolean.TRUE.equals(ssm.get(flag))) {
                obstacles.add(flag);
            }
        }
        long model = AttentionSizes.number(fields, "d_model", 2560);
        long expand = AttentionSizes.number(ssm, "expand", 2);
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("architectures", List.of(mamba2 ? "Mamba2ForCausalLM" : "MambaForCausalLM"));
        config.put("model_type", mamba2 ? "mamba2" : "mamba");
        config.put("dtype", dtype);
        config.put("vocab_size", vocabulary);
        config.put("hidden_size", model);
        config.put("num_hidden_layers", AttentionSizes.number(fields, "n_layer", 64));
        config.put("state_size", AttentionSizes.number(ssm, "d_state", mamba2 ? 128 : 16));
        config.put("conv_kernel", AttentionSizes.number(ssm, "d_conv", 4));
        config.put("expand", expand);
        config.put("use_bias", Boolean.TRUE.equals(ssm.get("bias")));
        config.put("use_conv_bias", !Boolean.FALSE.equals(ssm.get("conv_bias")));
        config.put("hidden_act", "silu");
        config.put("layer_norm_epsilon", 1e-5);
        config.put("residual_in_fp32", !Boolean.FALSE.equals(fields.get("residual_in_fp32")));
        config.put("tie_word_embeddings", tied());
        if (mamba2) {
            config.put("head_dim", headDim());
            config.put("num_heads", expand * model / headDim());
            config.put("n_groups", groups());
            config.put("chunk_size", AttentionSizes.number(ssm, "chunk_size", 256));
            config.put("rms_norm", true);
            config.put("norm_before_gate", false);
            config.put(
                    "time_step_limit",
                    ssm.getOrDefault("dt_limit", new ArrayList<>(List.of(0.0, Double.POSITIVE_INFINITY))));
        } else {
            config.put("intermediate_size", expand * model);
            config.put(
                    "time_step_rank", ssm.get("dt_rank") instanceof Number rank ? rank.longValue() : (model + 15) / 16);
        }
        return config;
    }

    /** How the gated norms of the two differ where there are several groups of states, in words. */
    public static String normDifference(long groups) {
        return "Hugging Face's mamba2 normalises over all channels, mamba_ssm within each of " + groups
                + " groups: the same weights give other logits there";
    }

    /** What mamba_ssm computes differently from Hugging Face's Mamba or Mamba2 of this config, in words. */
    public static List<String> differences(Map<String, Object> config) {
        List<String> differences = new ArrayList<>();
        long groups = AttentionSizes.number(config, "n_groups", 8);
        if ("mamba2".equals(config.get("model_type")) && groups > 1) {
            differences.add(normDifference(groups));
        }
        if (config.get("layer_norm_epsilon") instanceof Number epsilon && epsilon.doubleValue() != 1e-5) {
            differences.add("layer_norm_epsilon " + epsilon + ": mamba_ssm's norms take 1e-5");
        }
        if (config.get("hidden_act") instanceof String activation && !activation.equals("silu")) {
            differences.add("hidden_act " + activation + ": mamba_ssm's mixers have SiLU");
        }
        return differences;
    }

    /** The mamba_ssm config of a Hugging Face Mamba or Mamba2 model. */
    public static MambaConfig ofHuggingFace(Map<String, Object> config) {
        if (config.get(SECTION) instanceof Map<?, ?> kept) {
            Map<String, Object> fields = new LinkedHashMap<>();
            kept.forEach((key, value) -> fields.put(String.valueOf(key), value));
            MambaConfig original = new MambaConfig(fields);
            Map<String, Object> expected = original.asHuggingFace(config);
            // Whoever changed the config since meant the change.
            if (config.entrySet().containsAll(expected.entrySet())) {
                return original;
            }
        }
        boolean mamba2 = "mamba2".equals(config.get("model_type"));
        Map<String, Object> ssm = new LinkedHashMap<>();
        ssm.put("layer", mamba2 ? "Mamba2" : "Mamba1");
        ssm.put("d_state", AttentionSizes.number(config, "state_size", mamba2 ? 128 : 16));
        ssm.put("d_conv", AttentionSizes.number(config, "conv_kernel", 4));
        ssm.put("expand", AttentionSizes.number(config, "expand", 2));
        if (mamba2) {
            ssm.put("headdim", AttentionSizes.number(config, "head_dim", 64));
            ssm.put("ngroups", AttentionSizes.number(config, "n_groups", 8));
            ssm.put("chunk_size", AttentionSizes.number(config, "chunk_size", 256));
        } else if (config.get("time_step_rank") instanceof Number rank) {
            ssm.put("dt_rank", rank.longValue());
        }
        if (mamba2) {
            TimeStepLimit.of(config).ifPresent(limit -> ssm.put("dt_limit", limit.words()));
        }
        if (Boolean.TRUE.equals(config.get("use_bias"))) {
            ssm.put("bias", true);
        }
        if (Boolean.FALSE.equals(config.get("use_conv_bias"))) {
            ssm.put("conv_bias", false);
        }
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("d_model", AttentionSizes.number(config, "hidden_size", 0));
        fields.put("d_intermediate", 0L);
        fields.put("n_layer", AttentionSizes.number(config, "num_hidden_layers", 0));
        fields.put("vocab_size", AttentionSizes.number(config, "vocab_size", 0));
        fields.put("ssm_cfg", ssm);
        fields.put("attn_layer_idx", List.of());
        fields.put("attn_cfg", Map.of());
        fields.put("rms_norm", true);
        fields.put("residual_in_fp32", !Boolean.FALSE.equals(config.get("residual_in_fp32")));
        fields.put("fused_add_norm", true);
        fields.put("pad_vocab_size_multiple", 1L);
        fields.put("tie_embeddings", Boolean.TRUE.equals(config.get("tie_word_embeddings")));
        return new MambaConfig(fields);
    }
}
