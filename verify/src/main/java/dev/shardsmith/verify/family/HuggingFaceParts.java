package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Mamba1Mixer;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.TimeStep;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.List;
import java.util.Optional;

/**
 * The mixers of Hugging Face models.
 *
 * @param config the model's {@code config.json}
 * @param width channels of the residual stream
 */
record HuggingFaceParts(Settings config, int width) {

    /** Which channels the gated norm of a Mamba-2 mixer takes together. */
    enum NormGroups {
        /** All of them, whatever the number of groups: transformers' Mamba2, Bamba and Granite. */
        ONE,
        /** Those of one group of B and C. */
        BY_GROUP
    }

    /** Which option bounds the time steps of a Mamba-2 mixer. */
    enum StepBounds {
        /** {@code time_step_limit}: the least and the most. */
        LIMIT,
        /** None in the layers; transformers gives the class a least time step, which is the model's. */
        NONE
    }

    float epsilon() {
        return config.floatOr(1e-5, "layer_norm_epsilon", "rms_norm_eps", "norm_eps");
    }

    PreNorm norm(NamedWeights weights, String name) throws CheckpointException {
        return new PreNorm(Norm.rms(epsilon()), weights.get(name + ".weight"), Optional.empty());
    }

    Activation activation(String... options) throws CheckpointException {
        String name = config.text(options).orElse("silu");
        return switch (name) {
            case "silu", "swish" -> Activation.SILU;
            case "relu2", "squared_relu" -> Activation.SQUARED_RELU;
            case "gelu" -> Activation.GELU;
            case "gelu_new", "gelu_pytorch_tanh", "gelu_fast" -> Activation.GELU_TANH;
            default ->
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED, config.origin(), "the activation " + name);
        };
    }

    Mamba2Mixer mamba2(NamedWeights w, int heads, int state, NormGroups normGroups, StepBounds bounds)
            throws CheckpointException {
        int inner = w.size("out_proj.weight", 1);
        // Where the option is absent, each class has a default of its own; the weights are as it says where it is
        // there.
        int groups = (w.size("conv1d.weight", 0) - inner) / (2 * state);
        int headDim = inner / heads;
        Mamba2Mixer.Shard shard = new Mamba2Mixer.Shard(
                heads,
                groups,
                0,
                w.get("in_proj.weight"),
                w.find("in_proj.bias"),
                w.get("conv1d.weight"),
                w.find("conv1d.bias"),
                w.get("dt_bias"),
                w.get("A_log"),
                w.get("D"),
                w.find("norm.weight"),
                w.get("out_proj.weight"));
        int group = normGroups == NormGroups.ONE ? inner : inner / groups;
        boolean before = w.has("norm.weight") && config.flagOr(false, "mamba_norm_before_gate");
        TimeStep step = switch (bounds) {
            case LIMIT -> config.timeStep("time_step_limit");
            case NONE -> TimeStep.SOFTPLUS;
        };
        return new Mamba2Mixer(
                width,
                new Mamba2Mixer.Options(headDim, state, step, group, epsilon(), before),
                List.of(shard),
                w.find("out_proj.bias"));
    }

    Mamba1Mixer mamba1(NamedWeights w, Optional<Norm> innerNorm) throws CheckpointException {
        Mamba1Mixer.Shard shard = new Mamba1Mixer.Shard(
                w.get("in_proj.weight"),
                w.find("in_proj.bias"),
                w.get("conv1d.weight"),
                w.find("conv1d.bias"),
                w.get("x_proj.weight"),
                w.get("dt_proj.weight"),
                w.get("dt_proj.bias"),
                w.get("A_log"),
                w.get("D"),
                w.find("dt_layernorm.weight"),
                w.find("b_layernorm.weight"),
                w.find("c_layernorm.weight"),
                w.get("out_proj.weight"));
        Mamba1Mixer.Options options =
                new Mamba1Mixer.Options(w.size("A_log", 1), w.size("dt_proj.weight", 1), innerNorm);
        return new Mamba1Mixer(width, options, List.of(shard), w.find("out_proj.bias"));
    }

    AttentionMixer attention(NamedWeights w, double scale, Optional<Rotary> rotary, float keyFactor)
            throws CheckpointException {
        int heads = config.integer("num_attention_heads");
        int headDim = w.size("q_proj.weight", 0) / heads;
        // Where the option is absent, each class has a default of its own; the weights are as it says where it is
        // there.
        int keyHeads = w.size("k_proj.weight", 0) / headDim;
        WeightSource inProj = WeightSource.concat(
                List.of(w.get("q_proj.weight"), w.get("k_proj.weight").scaled(keyFactor), w.get("v_proj.weight")));
        Optional<WeightSource> bias = w.has("q_proj.bias")
                ? Optional.of(WeightSource.concat(
                        List.of(w.get("q_proj.bias"), w.get("k_proj.bias").scaled(keyFactor), w.get("v_proj.bias"))))
                : Optional.empty();
        AttentionMixer.Shard shard = new AttentionMixer.Shard(
                heads,
                keyHeads,
                0,
                inProj,
                bias,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                w.get("o_proj.weight"));
        AttentionMixer.Options options = new AttentionMixer.Options(headDim, scale, true, rotary, false);
        return new AttentionMixer(width, options, List.of(shard), w.find("o_proj.bias"));
    }

    /** {@code 1/√headDim}. */
    double headScale(NamedWeights w) throws CheckpointException {
        return 1 / Math.sqrt((double) w.size("q_proj.weight", 0) / config.integer("num_attention_heads"));
    }

    /** Rotation of the first part of each head, in halves. */
    Optional<Rotary> rotary(int headDim, double part) {
        double base = config.inside("rope_parameters").realOr(config.realOr(10000, "rope_theta"), "rope_theta");
        return Optional.of(new Rotary((int) (headDim * part), base, false));
    }

    /** A gated MLP of three matrices. */
    MlpMixer gated(NamedWeights w, Activation activation) throws CheckpointException {
        WeightSource fc1 = WeightSource.concat(List.of(w.get("gate_proj.weight"), w.get("up_proj.weight")));
        Optional<WeightSource> bias = w.has("gate_proj.bias")
                ? Optional.of(WeightSource.concat(List.of(w.get("gate_proj.bias"), w.get("up_proj.bias"))))
                : Optional.empty();
        return mlp(
                MlpMixer.Form.GATE_FIRST, activation, fc1, bias, w.get("down_proj.weight"), w.find("down_proj.bias"));
    }

    /** An MLP without a gate. */
    MlpMixer plain(NamedWeights w, Activation activation) throws CheckpointException {
        return mlp(
                MlpMixer.Form.PLAIN,
                activation,
                w.get("up_proj.weight"),
                w.find("up_proj.bias"),
                w.get("down_proj.weight"),
                w.find("down_proj.bias"));
    }

    MlpMixer mlp(
            MlpMixer.Form form,
            Activation activation,
            WeightSource fc1,
            Optional<WeightSource> fc1Bias,
            WeightSource fc2,
            Optional<WeightSource> fc2Bias) {
        return new MlpMixer(width, form, activation, List.of(new MlpMixer.Shard(fc1, fc1Bias, fc2)), fc2Bias);
    }
}
