package dev.shardsmith.reshard.family;

import dev.shardsmith.reshard.plan.ConversionOptions.NormNaming;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.Optional;
import java.util.Set;

/**
 * A model's own names for parameters that torch_dist stores under one name, however the model is built.
 *
 * @param newConvolutions whether the convolution of a Mamba layer is called {@code conv1d_weight}, as in releases of 2026
 * @param groupedExperts whether experts are named as in a grouped product
 * @param fusedDown whether latent attention has one down projection, with the norm before it
 * @param ownNorms whether norms before layers are modules of their own, which torch_dist calls as parts of linear layers
 */
public record DistNames(boolean newConvolutions, boolean groupedExperts, boolean fusedDown, boolean ownNorms) {

    /**
     * The names of the model that a checkpoint was saved from.
     *
     * @param transformer whether its layers have attention and MLP
     * @param newest whether the releases that saved it call the convolution {@code conv1d_weight}
     */
    public static DistNames of(Optional<MegatronArgs> args, boolean transformer, boolean newest) {
        return new DistNames(
                newest,
                args.map(given -> given.flag("moe_grouped_gemm", false)).orElse(true),
                args.map(given -> given.flag("mla_down_proj_fusion", false)).orElse(false),
                transformer
                        && args.flatMap(given -> given.text("transformer_impl")).equals(Optional.of("local")));
    }

    /** A parameter of an expert. */
    String expert(int expert, String parameter) {
        return groupedExperts
                ? "mlp.experts." + parameter + expert
                : "mlp.experts.local_experts." + expert + "." + parameter;
    }

    /** The name of a parameter that torch_dist keeps part by part. */
    String whole(ParameterRule rule) {
        // Gated delta products came after the new names, and have their convolution as a module all the same.
        boolean module = rule.when() == ParameterRule.When.GDP;
        return module ? rule.suffix().replace("conv1d_", "conv1d.") : own(rule.suffix());
    }

    /** The model's own spelling of a convolution's or a norm's key; others as they are. */
    String own(String suffix) {
        return switch (suffix) {
            case "mixer.conv1d.weight", "mixer.conv1d_weight" ->
                newConvolutions ? "mixer.conv1d_weight" : "mixer.conv1d.weight";
            case "mixer.conv1d.bias", "mixer.conv1d_bias" ->
                newConvolutions ? "mixer.conv1d_bias" : "mixer.conv1d.bias";
            default -> ownNorms ? NormNames.named(suffix, Set.of(), NormNaming.SEPARATE) : suffix;
        };
    }

    /** The one layer inside of a Transformer's prediction block, which older releases called as torch_dist does. */
    public String prediction(String prefix) {
        return newConvolutions ? prefix.replace(".transformer_layer.", ".mtp_model_layer.") : prefix;
    }

    /** The norm before a fused down projection is a part of it; other keys as they are. */
    static String fusedNorm(String suffix) {
        return switch (suffix) {
            case "input_layernorm.weight" -> "self_attention.linear_qkv_down_proj.layer_norm_weight";
            case "input_layernorm.bias" -> "self_attention.linear_qkv_down_proj.layer_norm_bias";
            default -> suffix;
        };
    }
}
