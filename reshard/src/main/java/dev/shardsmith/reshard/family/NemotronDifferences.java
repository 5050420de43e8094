package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What Megatron and transformers' NemotronH compute differently with the same weights.
 *
 * <p>Megatron's side is {@code megatron/core/ssm/mamba_mixer.py} and {@code megatron/core/transformer/moe/moe_utils.py}: the gated norm
 * takes an epsilon of 1e-5, time steps have no bounds (transformers' have a least one, and no most), convolutions are four long and have a bias, projections of Mamba layers
 * have none, and the scores of chosen experts are normalised wherever there are several.
 */
public final class NemotronDifferences {
    private static final double GATED_NORM_EPSILON = 1e-5;

    private NemotronDifferences() {}

    /**
     * What a Megatron run of a NemotronH model would compute differently, or could not load, in words.
     *
     * @param pattern symbols of the layers
     * @param shapes undivided shapes by Megatron's names
     */
    public static List<String> inMegatron(Map<String, Object> config, String pattern, Map<String, Shape> shapes) {
        List<String> differences = new ArrayList<>();
        if (pattern.contains("M")) {
            mambaLayers(config, shapes, differences);
        }
        boolean linear = pattern.contains("-") || pattern.contains("E");
        String activation = NemotronConfig.activation(config);
        if (linear && !activation.equals("relu2") && !activation.equals("gelu")) {
            differences.add("mlp_hidden_act " + activation
                    + ": Megatron's MLPs without a gate have squared ReLU or GELU, and GELU is what these options say");
        }
        long chosen = AttentionSizes.number(config, "num_experts_per_tok", 1);
        if (pattern.contains("E") && chosen > 1 && Boolean.FALSE.equals(config.get("norm_topk_prob"))) {
            differences.add("norm_topk_prob false: Megatron normalises the scores of chosen experts");
        }
        boolean attention = MegatronName.anyHas(shapes, "self_attention.linear_proj.bias");
        boolean mlp = MegatronName.anyHas(shapes, "mlp.linear_fc1.bias");
        if (linear && pattern.contains("*") && attention != mlp) {
            differences.add("biases in " + (mlp ? "MLPs" : "attention")
                    + " alone: Megatron's add_bias_linear is for both, so it will not load these weights as they are");
        }
        if (pattern.contains("*") && config.get("sliding_window") instanceof Number window) {
            differences.add("sliding_window " + window + ": these options let attention see all tokens");
        }
        return differences;
    }

    private static void mambaLayers(Map<String, Object> config, Map<String, Shape> shapes, List<String> differences) {
        if (config.get("layer_norm_epsilon") instanceof Number epsilon && epsilon.doubleValue() != GATED_NORM_EPSILON) {
            differences.add("layer_norm_epsilon " + epsilon + ": the gated norm of Megatron's Mamba layers takes 1e-5");
        }
        leastTimeStep(NemotronConfig.leastTimeStep(config)).ifPresent(differences::add);
        if (MegatronName.anyHas(shapes, "mixer.in_proj.bias")) {
            differences.add("biases in the projections of Mamba layers: Megatron's have none");
        }
        if (!NemotronConfig.convolutionBias(shapes)) {
            differences.add("convolutions without a bias: Megatron's have one");
        }
        long convolution = NemotronConfig.convolution(shapes);
        if (convolution != 4) {
            differences.add("convolutions of " + convolution + " tokens: Megatron's have 4");
        }
    }

    /** What the least time step of transformers is for layers that Megatron runs without one, in words; empty if that is 0. */
    private static Optional<String> leastTimeStep(double least) {
        return least == 0
                ? Optional.empty()
                : Optional.of("time_step_min " + least
                        + ": transformers raises shorter time steps of Mamba layers to it, Megatron's have no least");
    }

    /** What the least time step of a config that says nothing of it is for a Megatron model, in words. */
    public static Optional<String> ofDefaultTimeStep(NemotronLayers layers) {
        return layers.has('M') ? leastTimeStep(NemotronConfig.leastTimeStep(Map.of())) : Optional.empty();
    }

    /**
     * What NemotronH would compute differently from a Megatron run with these options, in words.
     */
    public static List<String> inNemotron(MegatronArgs args, NemotronLayers layers) {
        List<String> differences = new ArrayList<>();
        String position = args.text("position_embedding_type").orElse("none");
        if (layers.has('*') && position.equals("rope")) {
            differences.add("rotary position embeddings: NemotronH has none, so attention will compute something else");
        }
        if (layers.has('*') && (args.flag("add_bias_linear", false) || args.flag("add_qkv_bias", false))) {
            differences.add("biases of attention: transformers runs NemotronH's attention without any");
        }
        if (args.text("normalization").orElse("RMSNorm").equals("LayerNorm")) {
            differences.add("LayerNorm: NemotronH computes RMSNorm");
        }
        double epsilon = args.normEpsilon();
        if (layers.has('M') && epsilon != GATED_NORM_EPSILON) {
            differences.add("norm_epsilon " + epsilon
                    + ": the gated norm of Mamba layers takes it too in NemotronH, and 1e-5 in Megatron");
        }
        String scores = args.text("moe_router_score_function").orElse("softmax");
        if (layers.has('E') && !scores.equals("sigmoid")) {
            differences.add("moe_router_score_function " + scores + ": NemotronH's experts are scored by sigmoid");
        }
        return differences;
    }
}
