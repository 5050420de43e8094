package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The training arguments that follow from the shapes and names of the weights.
 *
 * <p>Only what the weights decide is here; see {@link WidthRelations} for what they only bound. Where layers of a kind differ,
 * the first one speaks, and the others are reported.
 */
final class WeightFacts {
    private final WeightModel model;
    private final Findings findings;
    private final Map<String, Fact> facts = new LinkedHashMap<>();
    /** Whether linear layers have biases: of all of them, or by the layer's key where each kind has its own option. */
    private final Map<String, Fact> biases = new LinkedHashMap<>();
    /** Widths that no argument is, and that all layers of a kind have alike. */
    private final Map<String, Fact> widths = new LinkedHashMap<>();

    private WeightFacts(WeightModel model, Findings findings) {
        this.model = model;
        this.findings = findings;
    }

    /** The facts in the weights, by argument; layers that contradict each other become findings. */
    static Map<String, Fact> of(WeightModel model, Findings findings) {
        WeightFacts weights = new WeightFacts(model, findings);
        weights.modelLevel();
        for (LayerWeights layer : model.layers().values()) {
            weights.layer(layer);
        }
        weights.linearBias();
        weights.layerCount();
        return weights.facts;
    }

    private void modelLevel() {
        shape("embedding.word_embeddings.weight", "padded_vocab_size", 0);
        shape("embedding.word_embeddings.weight", "hidden_size", 1);
        boolean learned = model.model().containsKey("embedding.position_embeddings.weight");
        if (learned) {
            put("position_embedding_type", "learned_absolute", "embedding.position_embeddings.weight is there");
            shape("embedding.position_embeddings.weight", "max_position_embeddings", 0);
        }
        boolean untied = model.model().containsKey("output_layer.weight");
        put(
                "untie_embeddings_and_output_weights",
                python(untied),
                untied ? "output_layer.weight is there" : "there is no output_layer.weight");
        for (String norm : new String[] {"decoder.final_norm", "decoder.final_layernorm"}) {
            if (model.model().containsKey(norm + ".weight")) {
                boolean bias = model.model().containsKey(norm + ".bias");
                put(
                        "normalization",
                        bias ? "LayerNorm" : "RMSNorm",
                        norm + (bias ? ".bias is there" : ".weight has no bias"));
            }
        }
        if (!model.predictions().isEmpty()) {
            int depths = model.predictions().size();
            put("mtp_num_layers", Integer.toString(depths), "mtp.layers has " + depths + " blocks");
        }
    }

    private void layerCount() {
        if (!model.layers().isEmpty()) {
            int count = model.layers().lastKey() + 1;
            put(
                    "num_layers",
                    Integer.toString(count),
                    "the highest layer is " + model.layers().lastKey());
        }
    }

    private void layer(LayerWeights layer) {
        Map<LayerKind, String> kinds = layer.kinds();
        for (LayerKind kind : kinds.keySet()) {
            switch (kind) {
                case MAMBA -> mamba(layer);
                case ATTENTION -> attention(layer);
                case MLP -> feedForward(layer, "mlp.", "ffn_hidden_size");
                case EXPERTS -> experts(layer);
                case LATENT_ATTENTION, SPARSE_ATTENTION -> latent(layer);
                case GATED_DELTA -> gatedDelta(layer);
            }
        }
    }

    private void mamba(LayerWeights layer) {
        size(layer, "mixer.in_proj.weight", 1, "hidden_size");
        Optional<Shape> decay = layer.shape("mixer.A_log");
        Optional<Shape> out = layer.shape("mixer.out_proj.weight");
        if (decay.isEmpty()
                || decay.get().rank() != 1
                || out.isEmpty()
                || out.get().rank() != 2) {
            return;
        }
        long heads = decay.get().size(0);
        long inner = out.get().size(1);
        put("mamba_num_heads", Long.toString(heads), layer.prefix() + "mixer.A_log " + decay.get());
        if (heads > 0 && inner % heads == 0) {
            put(
                    "mamba_head_dim",
                    Long.toString(inner / heads),
                    layer.prefix() + "mixer.out_proj.weight has " + inner + " columns for " + heads + " heads");
        }
    }

    private void attention(LayerWeights layer) {
        size(layer, "self_attention.linear_qkv.weight", 1, "hidden_size");
        presence(layer, "self_attention.q_layernorm.weight", "qk_layernorm");
        projections(layer);
        boolean projectionBias = layer.has("self_attention.linear_proj.bias");
        bias(layer, "self_attention.linear_proj.bias");
        if (!projectionBias) {
            presence(layer, "self_attention.linear_qkv.bias", "add_qkv_bias");
        }
    }

    /** Query, key and value rows are those of whole heads: more than the heads' own, by as many keys as values. */
    private void projections(LayerWeights layer) {
        String fused = "self_attention.linear_qkv.weight";
        Optional<Shape> input = layer.shape(fused).filter(shape -> shape.rank() == 2);
        Optional<Shape> output =
                layer.shape("self_attention.linear_proj.weight").filter(shape -> shape.rank() == 2);
        if (input.isEmpty() || output.isEmpty()) {
            return;
        }
        long rows = input.get().size(0);
        long columns = output.get().size(1);
        if (rows <= columns || (rows - columns) % 2 != 0) {
            findings.error(
                    "shape.attention",
                    layer.prefix() + fused,
                    "it has %d rows, which are not the %d query channels of linear_proj and as many key as value rows"
                            .formatted(rows, columns),
                    "");
        }
        String evidence = layer.prefix() + fused + " " + input.get();
        put(widths, fused, new Fact("the number of query, key and value rows", Long.toString(rows), evidence));
    }

    private void feedForward(LayerWeights layer, String block, String widthField) {
        Optional<Shape> down = layer.shape(block + "linear_fc2.weight");
        Optional<Shape> up = layer.shape(block + "linear_fc1.weight");
        if (down.isEmpty() || down.get().rank() != 2 || up.isEmpty() || up.get().rank() != 2) {
            return;
        }
        long width = down.get().size(1);
        put(widthField, Long.toString(width), layer.prefix() + block + "linear_fc2.weight has " + width + " columns");
        gated(layer.prefix() + block, up.get().size(0), width);
        bias(layer, block + "linear_fc2.bias");
    }

    private void gated(String block, long rows, long width) {
        if (rows == width || rows == 2 * width) {
            String evidence = "%slinear_fc1.weight has %d rows for a width of %d".formatted(block, rows, width);
            put("swiglu", python(rows == 2 * width && width > 0), evidence);
        } else {
            findings.error(
                    "shape.mlp",
                    block + "linear_fc1.weight",
                    "it has %d rows, which is neither the width %d of linear_fc2 nor twice that".formatted(rows, width),
                    "");
        }
    }

    private void experts(LayerWeights layer) {
        size(layer, "mlp.router.weight", 0, "num_experts");
        presence(layer, "mlp.router.expert_bias", "moe_router_enable_expert_bias");
        if (layer.has("mlp.fc1_latent_proj.weight")) {
            size(layer, "mlp.fc1_latent_proj.weight", 0, "moe_latent_size");
        } else {
            size(layer, "mlp.router.weight", 1, "hidden_size");
        }
        boolean grouped = layer.has("mlp.experts.linear_fc1.weight0");
        boolean sequential = layer.has("mlp.experts.local_experts.0.linear_fc1.weight");
        if (grouped || sequential) {
            put(
                    "moe_grouped_gemm",
                    python(grouped),
                    layer.prefix() + (grouped ? "mlp.experts.linear_fc1.weight0" : "mlp.experts.local_experts.0")
                            + " is there");
        }
        expertWidth(layer, grouped);
        if (layer.has("mlp.shared_experts.linear_fc2.weight")) {
            feedForward(layer, "mlp.shared_experts.", "moe_shared_expert_intermediate_size");
        }
    }

    private void expertWidth(LayerWeights layer, boolean grouped) {
        String up = grouped ? "mlp.experts.linear_fc1.weight0" : "mlp.experts.local_experts.0.linear_fc1.weight";
        String down = grouped ? "mlp.experts.linear_fc2.weight0" : "mlp.experts.local_experts.0.linear_fc2.weight";
        Optional<Shape> fc1 = layer.shape(up);
        Optional<Shape> fc2 = layer.shape(down);
        if (fc1.isPresent()
                && fc2.isPresent()
                && fc1.get().rank() == 2
                && fc2.get().rank() == 2) {
            long width = fc2.get().size(1);
            put("moe_ffn_hidden_size", Long.toString(width), layer.prefix() + down + " has " + width + " columns");
            gated(layer.prefix() + "mlp.experts.", fc1.get().size(0), width);
        }
    }

    private void latent(LayerWeights layer) {
        put("multi_latent_attention", "True", layer.prefix() + "has latent attention");
        size(layer, "self_attention.linear_q_down_proj.weight", 0, "q_lora_rank");
        size(layer, "self_attention.linear_kv_up_proj.weight", 1, "kv_lora_rank");
        size(layer, "self_attention.linear_kv_down_proj.weight", 1, "hidden_size");
    }

    private void gatedDelta(LayerWeights layer) {
        size(layer, "self_attention.in_proj.weight", 1, "hidden_size");
        size(layer, "self_attention.out_norm.weight", 0, "linear_value_head_dim");
        size(layer, "self_attention.A_log", 0, "linear_num_value_heads");
        size(layer, "self_attention.conv1d.weight", 2, "linear_conv_kernel_dim");
    }

    private void bias(LayerWeights layer, String suffix) {
        boolean there = layer.has(suffix);
        Fact fact = new Fact(
                "add_bias_linear", python(there), layer.prefix() + suffix + (there ? " is there" : " is not there"));
        put(biases, model.hasIndependentBiases() ? suffix : "", fact);
    }

    /** Where kinds of layer have biases of their own, one of them makes the model one with biases. */
    private void linearBias() {
        Optional<Fact> any = biases.values().stream()
                .filter(fact -> fact.value().equals("True"))
                .findFirst();
        any.or(() -> biases.values().stream().findFirst()).ifPresent(fact -> facts.put(fact.field(), fact));
    }

    private void presence(LayerWeights layer, String suffix, String field) {
        boolean there = layer.has(suffix);
        put(field, python(there), layer.prefix() + suffix + (there ? " is there" : " is not there"));
    }

    private void shape(String name, String field, int axis) {
        LogicalTensor tensor = model.model().get(name);
        if (tensor != null && tensor.shape().rank() > axis) {
            put(field, Long.toString(tensor.shape().size(axis)), name + " " + tensor.shape());
        }
    }

    private void size(LayerWeights layer, String suffix, int axis, String field) {
        layer.shape(suffix)
                .filter(shape -> shape.rank() > axis)
                .ifPresent(shape -> put(field, Long.toString(shape.size(axis)), layer.prefix() + suffix + " " + shape));
    }

    private void put(String field, String value, String evidence) {
        put(facts, field, new Fact(field, value, evidence));
    }

    private void put(Map<String, Fact> known, String key, Fact fact) {
        Fact first = known.putIfAbsent(key, fact);
        if (first != null && !first.value().equals(fact.value())) {
            findings.error(
                    "shape.differs",
                    fact.evidence(),
                    "%s is %s here, but %s says %s"
                            .formatted(fact.field(), fact.value(), first.evidence(), first.value()),
                    "");
        }
    }

    private static String python(boolean value) {
        return value ? "True" : "False";
    }

    /** Counts the elements of a layer. */
    static long parameters(LayerWeights layer) {
        return layer.tensors().values().stream()
                .mapToLong(tensor -> tensor.shape().elements())
                .sum();
    }
}
