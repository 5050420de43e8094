package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.LayerSignature;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The tensors of one layer, and what kind of layer they make it. */
final class LayerWeights {
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
        return LayerSignature.kinds(tensors::containsKey);
    }

    /** The kind, if the keys tell exactly one. */
    Optional<LayerKind> kind() {
        Map<LayerKind, String> kinds = kinds();
        return kinds.size() == 1 ? Optional.of(kinds.keySet().iterator().next()) : Optional.empty();
    }

    /** Whether the layer has attention and a feed-forward part, as a Transformer layer has. */
    boolean isTransformer() {
        return LayerSignature.isTransformer(kinds());
    }
}
