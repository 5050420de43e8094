package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The tensors of one layer, and what kind of layer they make it.
 *
 * <p>The kind follows from key names alone:
 *
 * <pre>
 * M  mixer.A_log                                  G  self_attention.in_proj.weight and self_attention.A_log
 * *  self_attention.linear_qkv.weight             +  self_attention.linear_kv_up_proj.weight (or linear_k_up_proj)
 * E  mlp.router.weight                            D  as + with self_attention.core_attention.indexer.*
 * -  mlp.linear_fc1.weight without a router
 * </pre>
 */
final class LayerWeights {
    private static final String INDEXER = "self_attention.core_attention.indexer.linear_wq_b.weight";

    private final String prefix;
    private final Map<String, LogicalTensor> tensors = new LinkedHashMap<>();

    LayerWeights(String prefix) {
        this.prefix = prefix;
    }

    void add(String suffix, LogicalTensor tensor) {
        tensors.put(suffix, tensor);
    }

    /** Everything before the suffix, with its dot: {@code decoder.layers.3.} */
    String prefix() {
        return prefix;
    }

    /** The layer's tensors by suffix. */
    Map<String, LogicalTensor> tensors() {
        return tensors;
    }

    boolean has(String suffix) {
        return tensors.containsKey(suffix);
    }

    /** The undivided shape of a parameter. */
    Optional<Shape> shape(String suffix) {
        return Optional.ofNullable(tensors.get(suffix)).map(LogicalTensor::shape);
    }

    /** The first that is there of some parameters that mean the same. */
    Optional<Shape> shape(String suffix, String otherwise) {
        return shape(suffix).or(() -> shape(otherwise));
    }

    /** What mixes tokens: the kind, by the key that decides it. */
    Map<LayerKind, String> kinds() {
        Map<LayerKind, String> kinds = new LinkedHashMap<>();
        decide(kinds, LayerKind.MAMBA, "mixer.A_log");
        decide(kinds, LayerKind.ATTENTION, "self_attention.linear_qkv.weight");
        if (has("self_attention.A_log")) {
            decide(kinds, LayerKind.GATED_DELTA, "self_attention.in_proj.weight");
        }
        if (has(INDEXER)) {
            decide(kinds, LayerKind.SPARSE_ATTENTION, INDEXER);
        } else {
            decide(kinds, LayerKind.LATENT_ATTENTION, "self_attention.linear_kv_up_proj.weight");
            decide(kinds, LayerKind.LATENT_ATTENTION, "self_attention.linear_k_up_proj.weight");
        }
        if (has("mlp.router.weight")) {
            decide(kinds, LayerKind.EXPERTS, "mlp.router.weight");
        } else {
            decide(kinds, LayerKind.MLP, "mlp.linear_fc1.weight");
        }
        return kinds;
    }

    /** The kind, if the keys tell exactly one. */
    Optional<LayerKind> kind() {
        Map<LayerKind, String> kinds = kinds();
        return kinds.size() == 1 ? Optional.of(kinds.keySet().iterator().next()) : Optional.empty();
    }

    /** Whether the layer has attention and a feed-forward part, as a Transformer layer has. */
    boolean isTransformer() {
        Map<LayerKind, String> kinds = kinds();
        boolean mixes = kinds.containsKey(LayerKind.ATTENTION)
                || kinds.containsKey(LayerKind.LATENT_ATTENTION)
                || kinds.containsKey(LayerKind.SPARSE_ATTENTION)
                || kinds.containsKey(LayerKind.GATED_DELTA);
        return kinds.size() == 2 && mixes && (kinds.containsKey(LayerKind.MLP) || kinds.containsKey(LayerKind.EXPERTS));
    }

    private void decide(Map<LayerKind, String> kinds, LayerKind kind, String suffix) {
        if (has(suffix)) {
            kinds.putIfAbsent(kind, suffix);
        }
    }
}
