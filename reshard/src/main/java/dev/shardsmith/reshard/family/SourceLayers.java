package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.view.ModelView;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The layers of a source as its weights have them.
 *
 * @param kinds the kinds of each decoder layer's parts, in order; one part in a hybrid model, two in a Transformer
 * @param predictions the same for the layers inside of the first prediction block
 * @param depths number of prediction blocks
 */
record SourceLayers(List<Set<LayerKind>> kinds, List<Set<LayerKind>> predictions, int depths) {

    /** Looks at the names of a view's tensors. */
    static SourceLayers of(ModelView view) {
        TreeMap<Integer, Set<String>> layers = new TreeMap<>();
        TreeMap<Integer, TreeMap<String, Set<String>>> blocks = new TreeMap<>();
        for (String key : view.tensors().keySet()) {
            MegatronName name = MegatronName.parse(key);
            switch (name.scope()) {
                case LAYER ->
                    layers.computeIfAbsent(name.layer().orElseThrow(), number -> new LinkedHashSet<>())
                            .add(name.suffix());
                case MTP_LAYER ->
                    blocks.computeIfAbsent(name.depth().orElseThrow(), depth -> new TreeMap<>(MegatronOrder::byNumbers))
                            .computeIfAbsent(name.prefix(), prefix -> new LinkedHashSet<>())
                            .add(name.suffix());
                case MTP, MODEL -> {}
            }
        }
        List<Set<LayerKind>> inner = blocks.isEmpty()
                ? List.of()
                : blocks.firstEntry().getValue().values().stream()
                        .map(SourceLayers::kinds)
                        .toList();
        return new SourceLayers(
                layers.values().stream().map(SourceLayers::kinds).toList(), inner, blocks.size());
    }

    private static Set<LayerKind> kinds(Set<String> suffixes) {
        return LayerSignature.kinds(suffixes::contains).keySet();
    }

    /** Number of decoder layers. */
    int count() {
        return kinds.size();
    }

    /** Whether every layer has the two parts of a Transformer's. */
    boolean isTransformer() {
        return !kinds.isEmpty()
                && kinds.stream()
                        .allMatch(parts -> parts.size() == 2
                                && (parts.contains(LayerKind.MLP) || parts.contains(LayerKind.EXPERTS))
                                && !parts.contains(LayerKind.MAMBA));
    }

    /** The pattern of a hybrid model; empty if a layer's kind cannot be told. */
    Optional<HybridPattern> pattern() throws CheckpointException {
        StringBuilder text = new StringBuilder();
        boolean told = symbols(kinds, text);
        StringBuilder part = new StringBuilder("/");
        told &= symbols(predictions, part);
        return told ? Optional.of(HybridPattern.parse(text + part.toString().repeat(depths))) : Optional.empty();
    }

    private static boolean symbols(List<Set<LayerKind>> layers, StringBuilder text) {
        for (Set<LayerKind> parts : layers) {
            if (parts.size() != 1) {
                return false;
            }
            text.append(parts.iterator().next().symbol());
        }
        return true;
    }

    /**
     * The pattern of a hybrid model: the saved one, which must have as many layers as the weights, or that of the weights where
     * the saved one is wrong and the user gives another.
     */
    Optional<HybridPattern> known(ModelView view, ConversionOptions options) throws CheckpointException {
        Optional<HybridPattern> weights = pattern();
        if (options.pattern().isPresent()
                && weights.isPresent()
                && view.pattern().isPresent()) {
            HybridPattern saved = HybridPattern.parse(view.pattern().get());
            if (!saved.layers().equals(weights.get().layers())) {
                return weights;
            }
        }
        return saved(view);
    }

    private Optional<HybridPattern> saved(ModelView view) throws CheckpointException {
        if (view.pattern().isEmpty() || isTransformer()) {
            return Optional.empty();
        }
        HybridPattern saved = HybridPattern.parse(view.pattern().get());
        if (saved.layerCount() == count()) {
            return Optional.of(saved);
        }
        String options = view.state()
                .args()
                .map(args -> ", num_layers is " + args.integer("num_layers", -1))
                .orElse("");
        throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        "saved options, hybrid_layer_pattern " + saved.text(),
                        "the saved pattern has " + saved.layerCount() + " layers, the files hold " + count() + options)
                .withHint("'shardsmith validate' shows which layers the weights have; give the right --pattern");
    }
}
