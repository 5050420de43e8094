package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ExpertRouting;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.Remainder;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Models of Hugging Face's transformers, run as that library runs them.
 *
 * <p>Known by {@code model_type}: mamba, falcon_mamba, mamba2, nemotron_h, bamba, falcon_h1, granitemoehybrid,
 * jamba, zamba2.
 */
public final class HuggingFaceModels {
    private final Settings config;
    private final NamedWeights weights;
    private final int width;
    private final int layers;
    private final HuggingFaceParts parts;

    private HuggingFaceModels(Settings config, NamedWeights all) throws CheckpointException {
        this.config = config;
        this.weights = all;
        this.width = config.integer("hidden_size");
        this.layers =
                config.integerOr(config.list("layers_block_type", "layer_types").size(), "num_hidden_layers");
        this.parts = new HuggingFaceParts(config, width);
    }

    /**
     * The model of a folder.
     *
     * @param config its {@code config.json}
     * @param weights its tensors under their names on disk
     * @throws CheckpointException if the model is not known or a tensor is missing
     */
    public static LayeredModel of(Settings config, NamedWeights weights) throws CheckpointException {
        return UnfollowedOptions.huggingFace(config).mark(new HuggingFaceModels(config, weights).build());
    }

    private LayeredModel build() throws CheckpointException {
        String type = config.text("model_type").orElse("none");
        return switch (type) {
            case "mamba", "falcon_mamba", "mamba2" -> pure(type);
            case "nemotron_h" -> nemotron().withStepFloor(stepFloor("mamba_dt_min", "time_step_min"));
            case "bamba" -> bamba();
            case "falcon_h1" -> falcon();
            case "granitemoehybrid" -> granite();
            case "jamba" -> jamba();
            case "zamba2" -> zamba().withStepFloor(stepFloor("time_step_min"));
            default ->
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        config.origin(),
                        "no forward pass is known for models of type " + type);
        };
    }

    /**
     * Transformers gives these two classes {@code time_step_min} as the least time step and no most: their {@code time_step_limit}
     * is not read. NemotronH's older name of it goes first.
     */
    private double stepFloor(String... names) {
        return config.realOr(0.001, names);
    }

    private String prefix() {
        return weights.names().stream().anyMatch(name -> name.startsWith("backbone.")) ? "backbone." : "model.";
    }

    private NamedWeights layer(int index) {
        return weights.under(prefix() + "layers." + index + ".");
    }

    private LayeredModel model(List<Block> blocks, String finalNorm, float embeddingScale, float logitScale)
            throws CheckpointException {
        NamedWeights top = weights.under(prefix());
        WeightSource embedding = embedding(top);
        if (!weights.has("lm_head.weight") && !config.flagOr(true, "tie_word_embeddings")) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    "lm_head.weight",
                    "the configuration does not tie the head to the embedding, but there is no lm_head.weight");
        }
        WeightSource head = weights.find("lm_head.weight").orElse(embedding);
        return new LayeredModel(
                width,
                List.of(embedding),
                embeddingScale,
                List.copyOf(blocks),
                Optional.of(parts.norm(top, finalNorm)),
                List.of(head),
                logitScale);
    }

    private static WeightSource embedding(NamedWeights top) throws CheckpointException {
        for (String name : List.of("embeddings.weight", "embedding.weight")) {
            if (top.has(name)) {
                return top.get(name);
            }
        }
        return top.get("embed_tokens.weight");
    }

    private LayeredModel pure(String type) throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            NamedWeights w = layer(i).under("mixer.");
            Mixer mixer = switch (type) {
                case "mamba2" -> mamba2(w, HuggingFaceParts.NormGroups.ONE, "num_heads", "state_size");
                case "falcon_mamba" -> parts.mamba1(w, Optional.of(Norm.rms(config.floatOr(1e-6, "mixer_rms_eps"))));
                default -> parts.mamba1(w, Optional.empty());
            };
            String kind = type.equals("mamba2") ? "mamba" : "mamba1";
            blocks.add(new Block(i, kind, parts.norm(layer(i), "norm"), List.of(mixer)));
        }
        return model(blocks, "norm_f", 1, 1);
    }

    private Mamba2Mixer mamba2(NamedWeights w, HuggingFaceParts.NormGroups normGroups, String heads, String state)
            throws CheckpointException {
        return parts.mamba2(
                w, config.integer(heads), config.integer(state), normGroups, HuggingFaceParts.StepBounds.LIMIT);
    }

    private LayeredModel nemotron() throws CheckpointException {
        NemotronBlocks blocks = new NemotronBlocks(config, parts, weights);
        return model(blocks.main(prefix() + "layers."), "norm_f", 1, 1).with(Optional.empty(), blocks.predictors());
    }

    private LayeredModel bamba() throws CheckpointException {
        List<Object> attention = config.list("attn_layer_indices");
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            NamedWeights w = layer(i);
            boolean attends = attention.contains(i) || attention.contains((long) i);
            PreNorm norm = parts.norm(w, "input_layernorm");
            blocks.add(
                    attends
                            ? new Block(i, "attention", norm, List.of(rotated(w.under("self_attn."), 0.5)))
                            : new Block(i, "mamba", norm, List.of(bambaMixer(w.under("mamba.")))));
            blocks.add(feedForward(i, w, 1));
        }
        return model(blocks, "final_layernorm", 1, 1);
    }

    private Mamba2Mixer bambaMixer(NamedWeights w) throws CheckpointException {
        return mamba2(w, HuggingFaceParts.NormGroups.ONE, "mamba_n_heads", "mamba_d_state");
    }

    private AttentionMixer rotated(NamedWeights w, double part) throws CheckpointException {
        int headDim = w.size("q_proj.weight", 0) / config.integer("num_attention_heads");
        double rotating = config.inside("rope_parameters")
                .realOr(config.realOr(part, "partial_rotary_factor"), "partial_rotary_factor");
        Optional<Rotary> rotary = parts.rotary(headDim, rotating);
        return parts.attention(w, parts.headScale(w), rotary, config.floatOr(1, "key_multiplier"));
    }

    private Block feedForward(int index, NamedWeights w, float scale) throws CheckpointException {
        MlpMixer mlp = parts.gated(w.under("feed_forward."), parts.activation("hidden_act"));
        return new Block(index, "mlp", parts.norm(w, "pre_ff_layernorm"), List.of(Scaling.output(mlp, scale)));
    }

    private LayeredModel falcon() throws CheckpointException {
        float[] mlpFactors = config.floats("mlp_multipliers", 2);
        float[] rows = config.floats("ssm_multipliers", 5);
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            NamedWeights w = layer(i);
            Mamba2Mixer mamba =
                    mamba2(w.under("mamba."), HuggingFaceParts.NormGroups.BY_GROUP, "mamba_n_heads", "mamba_d_state");
            mamba = Scaling.rows(mamba, config.floatOr(1, "ssm_in_multiplier"), rows);
            mamba = Scaling.output(mamba, config.floatOr(1, "ssm_out_multiplier"));
            AttentionMixer attention =
                    Scaling.input(rotated(w.under("self_attn."), 1), config.floatOr(1, "attention_in_multiplier"));
            attention = Scaling.output(attention, config.floatOr(1, "attention_out_multiplier"));
            PreNorm norm = parts.norm(w, "input_layernorm");
            blocks.add(new Block(i, "mamba+attention", norm, List.of(mamba, attention)));
            blocks.add(falconFeedForward(i, w, mlpFactors));
        }
        return model(
                blocks,
                "final_layernorm",
                config.floatOr(1, "embedding_multiplier"),
                config.floatOr(1, "lm_head_multiplier"));
    }

    private Block falconFeedForward(int index, NamedWeights w, float[] factors) throws CheckpointException {
        NamedWeights mlp = w.under("feed_forward.");
        float gate = factors.length == 2 ? factors[0] : 1;
        float down = factors.length == 2 ? factors[1] : 1;
        WeightSource fc1 =
                WeightSource.concat(List.of(mlp.get("gate_proj.weight").scaled(gate), mlp.get("up_proj.weight")));
        Optional<WeightSource> bias = mlp.has("gate_proj.bias")
                ? Optional.of(
                        WeightSource.concat(List.of(mlp.get("gate_proj.bias").scaled(gate), mlp.get("up_proj.bias"))))
                : Optional.empty();
        MlpMixer mixer = parts.mlp(
                MlpMixer.Form.GATE_FIRST,
                parts.activation("hidden_act"),
                fc1,
                bias,
                mlp.get("down_proj.weight").scaled(down),
                mlp.find("down_proj.bias").map(b -> b.scaled(down)));
        return new Block(index, "mlp", parts.norm(w, "pre_ff_layernorm"), List.of(mixer));
    }

    private LayeredModel granite() throws CheckpointException {
        float residual = config.floatOr(1, "residual_multiplier");
        boolean rotates = config.text("position_embedding_type").orElse("").equals("rope");
        List<Object> kinds = config.list("layer_types");
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            NamedWeights w = layer(i);
            String kind = i < kinds.size() ? String.valueOf(kinds.get(i)) : "mamba";
            PreNorm norm = parts.norm(w, "input_layernorm");
            if (kind.equals("attention") || kind.equals("full_attention")) {
                NamedWeights attention = w.under("self_attn.");
                int headDim = attention.size("q_proj.weight", 0) / config.integer("num_attention_heads");
                AttentionMixer mixer = parts.attention(
                        attention,
                        config.realOr(parts.headScale(attention), "attention_multiplier"),
                        rotates ? parts.rotary(headDim, 1) : Optional.empty(),
                        1);
                blocks.add(new Block(i, "attention", norm, List.of(Scaling.output(mixer, residual))));
            } else {
                Mamba2Mixer mixer = Scaling.output(bambaMixer(w.under("mamba.")), residual);
                blocks.add(new Block(i, "mamba", norm, List.of(mixer)));
            }
            blocks.add(graniteFeedForward(i, w, residual));
        }
        return model(blocks, "norm", config.floatOr(1, "embedding_multiplier"), (float)
                (1 / config.realOr(1, "logits_scaling")));
    }

    private Block graniteFeedForward(int index, NamedWeights w, float scale) throws CheckpointException {
        Activation activation = parts.activation("hidden_act");
        MlpMixer shared = parts.mlp(
                MlpMixer.Form.GATE_FIRST,
                activation,
                w.get("shared_mlp.input_linear.weight"),
                Optional.empty(),
                w.get("shared_mlp.output_linear.weight").scaled(scale),
                Optional.empty());
        PreNorm norm = parts.norm(w, "post_attention_layernorm");
        int count = config.integerOr(0, "num_local_experts");
        if (count == 0) {
            return new Block(index, "mlp", norm, List.of(shared));
        }
        NamedWeights moe = w.under("block_sparse_moe.");
        List<MlpMixer> experts = new ArrayList<>();
        int rows = moe.size("input_linear.weight", 1);
        for (int e = 0; e < count; e++) {
            experts.add(parts.mlp(
                    MlpMixer.Form.GATE_FIRST,
                    activation,
                    moe.get("input_linear.weight").rows(width, e * rows, rows),
                    Optional.empty(),
                    moe.get("output_linear.weight")
                            .rows(rows / 2, e * width, width)
                            .scaled(scale),
                    Optional.empty()));
        }
        ExpertRouting routing = new ExpertRouting(
                ExpertRouting.Scores.SOFTMAX_CHOSEN,
                config.integer("num_experts_per_tok"),
                false,
                1,
                ExpertRouting.Groups.ALL);
        ExpertsMixer mixer = new ExpertsMixer(
                width,
                routing,
                moe.get("router.layer.weight"),
                Optional.empty(),
                Optional.empty(),
                List.copyOf(experts),
                Optional.of(shared),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
        return new Block(index, "moe", norm, List.of(mixer));
    }

    private LayeredModel zamba() throws CheckpointException {
        ZambaBlocks zamba = new ZambaBlocks(config, parts, weights.under(prefix() + "layers."));
        return model(zamba.build(), "final_layernorm", 1, 1).withRemainder(new Remainder(List.of(), zamba.copies()));
    }

    private LayeredModel jamba() throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            NamedWeights w = layer(i);
            PreNorm norm = parts.norm(w, "input_layernorm");
            if (w.has("self_attn.q_proj.weight")) {
                NamedWeights attention = w.under("self_attn.");
                blocks.add(new Block(
                        i,
                        "attention",
                        norm,
                        List.of(parts.attention(attention, parts.headScale(attention), Optional.empty(), 1))));
            } else {
                Norm inner = Norm.rms(parts.epsilon());
                blocks.add(new Block(i, "mamba1", norm, List.of(parts.mamba1(w.under("mamba."), Optional.of(inner)))));
            }
            blocks.add(w.has("feed_forward.router.weight") ? jambaExperts(i, w) : feedForward(i, w, 1));
        }
        return model(blocks, "final_layernorm", 1, 1);
    }

    private Block jambaExperts(int index, NamedWeights w) throws CheckpointException {
        List<MlpMixer> experts = new ArrayList<>();
        for (int e = 0; e < config.integer("num_experts"); e++) {
            experts.add(parts.gated(w.under("feed_forward.experts." + e + "."), parts.activation("hidden_act")));
        }
        ExpertRouting routing = new ExpertRouting(
                ExpertRouting.Scores.SOFTMAX_ALL,
                config.integer("num_experts_per_tok"),
                false,
                1,
                ExpertRouting.Groups.ALL);
        ExpertsMixer mixer = new ExpertsMixer(
                width,
                routing,
                w.get("feed_forward.router.weight"),
                Optional.empty(),
                Optional.empty(),
                List.copyOf(experts),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
        return new Block(index, "moe", parts.norm(w, "pre_ff_layernorm"), List.of(mixer));
    }
}
