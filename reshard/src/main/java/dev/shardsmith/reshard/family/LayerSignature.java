package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * What kind of layer a set of parameters makes, from their names alone.
 *
 * <pre>
 * M  mixer.A_log                                  G  self_attention.in_proj.weight and self_attention.A_log
 * *  self_attention.linear_qkv.weight             +  self_attention.linear_kv_up_proj.weight (or linear_k_up_proj)
 * E  mlp.router.weight                            D  as + with self_attention.core_attention.indexer.*
 * -  mlp.linear_fc1.weight without a router
 * </pre>
 */
public final class LayerSignature {
    private static final String INDEXER = "self_attention.core_attention.indexer.linear_wq_b.weight";

    private LayerSignature() {}

    /**
     * The kinds that a layer's parameters tell, each with the suffix that decides it; one kind in a sound hybrid layer.
     *
     * @param has whether the layer has a parameter, by suffix
     */
    public static Map<LayerKind, String> kinds(Predicate<String> has) {
        Map<LayerKind, String> kinds = new LinkedHashMap<>();
        decide(kinds, has, LayerKind.MAMBA, "mixer.A_log");
        decide(kinds, has, LayerKind.ATTENTION, "self_attention.linear_qkv.weight");
        if (has.test("self_attention.A_log")) {
            decide(kinds, has, LayerKind.GATED_DELTA, "self_attention.in_proj.weight");
        }
        if (has.test(INDEXER)) {
            decide(kinds, has, LayerKind.SPARSE_ATTENTION, INDEXER);
        } else {
            decide(kinds, has, LayerKind.LATENT_ATTENTION, "self_attention.linear_kv_up_proj.weight");
            decide(kinds, has, LayerKind.LATENT_ATTENTION, "self_attention.linear_k_up_proj.weight");
        }
        if (has.test("mlp.router.weight")) {
            decide(kinds, has, LayerKind.EXPERTS, "mlp.router.weight");
        } else {
            decide(kinds, has, LayerKind.MLP, "mlp.linear_fc1.weight");
        }
        return kinds;
    }

    /** Whether these are the two parts of a Transformer layer: something that mixes tokens and something that does not. */
    public static boolean isTransformer(Map<LayerKind, String> kinds) {
        boolean mixes = kinds.containsKey(LayerKind.ATTENTION)
                || kinds.containsKey(LayerKind.LATENT_ATTENTION)
                || kinds.containsKey(LayerKind.SPARSE_ATTENTION)
                || kinds.containsKey(LayerKind.GATED_DELTA);
        return kinds.size() == 2 && mixes && (kinds.containsKey(LayerKind.MLP) || kinds.containsKey(LayerKind.EXPERTS));
    }

    /**
     * Whether the widths of a mixer are those of Mamba-2, whose {@code mixer.D} is lost if it is not there.
     *
     * <p>Beyond the convolution's channels and z, Mamba-2's input projection has a row for each head; that of a gated delta
     * product, which has no D, has at least two.
     *
     * @param shapes shapes of a layer or of a rank's shard of it, by suffix
     */
    public static boolean isMamba2WithoutSkip(Function<String, Optional<Shape>> shapes) {
        Optional<Long> rows = size(shapes, "mixer.in_proj.weight", 0);
        Optional<Long> inner = size(shapes, "mixer.out_proj.weight", 1);
        Optional<Long> heads = size(shapes, "mixer.A_log", 0);
        Optional<Long> channels =
                size(shapes, "mixer.conv1d_weight", 0).or(() -> size(shapes, "mixer.conv1d.weight", 0));
        return rows.isPresent()
                && inner.isPresent()
                && heads.isPresent()
                && channels.isPresent()
                && rows.get() - channels.get() - inner.get() == heads.get();
    }

    private static Optional<Long> size(Function<String, Optional<Shape>> shapes, String suffix, int axis) {
        return shapes.apply(suffix).filter(shape -> shape.rank() > axis).map(shape -> shape.size(axis));
    }

    private static void decide(Map<LayerKind, String> kinds, Predicate<String> has, LayerKind kind, String suffix) {
        if (has.test(suffix)) {
            kinds.putIfAbsent(kind, suffix);
        }
    }
}
