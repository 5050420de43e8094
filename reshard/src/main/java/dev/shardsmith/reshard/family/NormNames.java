package dev.shardsmith.reshard.family;

import dev.shardsmith.reshard.plan.ConversionOptions.NormNaming;
import java.util.List;
import java.util.Set;

/**
 * Names of the norm before a layer: a part of the linear layer that follows, or a module of its own.
 *
 * <p>Transformer Engine has linear layers with a norm in front; without it the same norm is a module. Layers whose first linear layer
 * is not alone, as in latent attention and mixtures of experts, have a module in either case.
 */
public final class NormNames {
    /** One norm: the module's name, the linear layer that it may be a part of, and what the layer must not have for that. */
    private record Norm(String separate, String linear, String unless) {}

    private static final List<Norm> NORMS = List.of(
            new Norm("norm.", "mixer.in_proj.", ""),
            new Norm("input_layernorm.", "self_attention.linear_qkv.", ""),
            new Norm("input_layernorm.", "self_attention.in_proj.", ""),
            new Norm("pre_mlp_layernorm.", "mlp.linear_fc1.", "mlp.router.weight"));

    private NormNames() {}

    /**
     * A parameter's suffix in the wanted spelling.
     *
     * @param layer suffixes of all parameters of its layer
     */
    public static String named(String suffix, Set<String> layer, NormNaming naming) {
        return switch (naming) {
            case KEEP -> suffix;
            case FUSED -> fused(suffix, layer);
            case SEPARATE -> separate(suffix);
        };
    }

    private static String fused(String suffix, Set<String> layer) {
        for (Norm norm : NORMS) {
            boolean possible = layer.contains(norm.linear() + "weight") && !layer.contains(norm.unless());
            if (possible && suffix.startsWith(norm.separate()) && !suffix.endsWith("_extra_state")) {
                return norm.linear() + "layer_norm_"
                        + suffix.substring(norm.separate().length());
            }
        }
        return suffix;
    }

    private static String separate(String suffix) {
        for (Norm norm : NORMS) {
            String fused = norm.linear() + "layer_norm_";
            if (suffix.startsWith(fused)) {
                return norm.separate() + suffix.substring(fused.length());
            }
        }
        return suffix;
    }
}
