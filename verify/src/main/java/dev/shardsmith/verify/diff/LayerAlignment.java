package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.family.LayerSignature;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Which layers of two Megatron models are the same part of the model, where the two number them differently.
 *
 * <p>A Transformer's layer has two parts, attention and an MLP or experts; a hybrid model gives each part a layer of its own,
 * and other parts between them. As the forward check does, parts are taken in the order in which the model runs them, and the
 * i-th of one side is the i-th of the other. That is done only if both sides have the same kinds in the same order, parts of
 * a kind that one side does not have at all left aside.
 */
final class LayerAlignment {
    private static final String FINAL_NORM = "decoder.final_norm.";
    private static final String FINAL_LAYERNORM = "decoder.final_layernorm.";

    /** Where the names of one part of a layer begin, in a Transformer's layer. */
    private static final List<String> MLP_PREFIXES = List.of("mlp.", "pre_mlp_layernorm.");

    /**
     * A part of the model.
     *
     * @param kind what it does
     * @param layer the number of the layer that it is in
     * @param alone whether it is all of that layer
     */
    private record Part(LayerKind kind, int layer, boolean alone) {
        boolean feedsForward() {
            return kind == LayerKind.MLP || kind == LayerKind.EXPERTS;
        }
    }

    /**
     * A part of the right side.
     *
     * @param leftLayer the layer of the left side that it is in
     */
    private record Counterpart(Part part, int leftLayer) {}

    private final Map<Integer, List<Counterpart>> rightLayers = new HashMap<>();
    private final boolean moves;
    private final String finalNorm;
    private final String note;

    private LayerAlignment(List<Part> left, List<Part> right, String finalNorm, String note) {
        this.finalNorm = finalNorm;
        this.note = note;
        boolean elsewhere = false;
        for (int i = 0; i < right.size(); i++) {
            rightLayers
                    .computeIfAbsent(right.get(i).layer(), none -> new ArrayList<>())
                    .add(new Counterpart(right.get(i), left.get(i).layer()));
            elsewhere |= right.get(i).layer() != left.get(i).layer();
        }
        this.moves = elsewhere;
    }

    /** The alignment of two models; one that changes no name if their layers have the same numbers, or cannot be aligned. */
    static LayerAlignment of(ModelView left, ModelView right) {
        LayerAlignment none = new LayerAlignment(List.of(), List.of(), "", "");
        if (left.family() != ModelView.Family.MEGATRON || right.family() != ModelView.Family.MEGATRON) {
            return none;
        }
        Optional<List<Part>> ours = parts(left);
        Optional<List<Part>> theirs = parts(right);
        if (ours.isEmpty() || theirs.isEmpty()) {
            return none;
        }
        List<Part> common = of(ours.get(), kinds(theirs.get()));
        List<Part> others = of(theirs.get(), kinds(ours.get()));
        if (common.isEmpty()
                || !common.stream()
                        .map(Part::kind)
                        .toList()
                        .equals(others.stream().map(Part::kind).toList())) {
            return none;
        }
        boolean hybridNames = left.tensors().keySet().stream().anyMatch(name -> name.startsWith(FINAL_NORM));
        String norm = hybridNames ? FINAL_NORM : FINAL_LAYERNORM;
        String note = "layers are aligned by what they are, since they are numbered differently: " + common.size()
                + " parts in the order of the model, in " + layers(common) + " layers of A and in " + layers(others)
                + " of B";
        return new LayerAlignment(common, others, norm, note);
    }

    /** The parts in the order in which they run; empty if a layer is not told by its names. */
    private static Optional<List<Part>> parts(ModelView view) {
        Map<Integer, Set<String>> suffixes = new TreeMap<>();
        for (String key : view.tensors().keySet()) {
            MegatronName name = MegatronName.parse(key);
            if (name.layer().isPresent()) {
                suffixes.computeIfAbsent(name.layer().getAsInt(), none -> new TreeSet<>())
                        .add(name.suffix());
            }
        }
        List<Part> parts = new ArrayList<>();
        for (Map.Entry<Integer, Set<String>> layer : suffixes.entrySet()) {
            Map<LayerKind, String> kinds = LayerSignature.kinds(layer.getValue()::contains);
            if (kinds.size() != 1 && !LayerSignature.isTransformer(kinds)) {
                return Optional.empty();
            }
            // The signature names what mixes tokens before what does not: the order in which they run.
            for (LayerKind kind : kinds.keySet()) {
                parts.add(new Part(kind, layer.getKey(), kinds.size() == 1));
            }
        }
        return Optional.of(parts);
    }

    private static Set<LayerKind> kinds(List<Part> parts) {
        Set<LayerKind> kinds = EnumSet.noneOf(LayerKind.class);
        parts.forEach(part -> kinds.add(part.kind()));
        return kinds;
    }

    private static List<Part> of(List<Part> parts, Set<LayerKind> kinds) {
        return parts.stream().filter(part -> kinds.contains(part.kind())).toList();
    }

    private static long layers(List<Part> parts) {
        return parts.stream().mapToInt(Part::layer).distinct().count();
    }

    /** What is to be said about it; empty if no name changes. */
    Optional<String> note() {
        return moves ? Optional.of(note) : Optional.empty();
    }

    /** The name that a tensor of the right side has on the left; empty if it belongs to a part that the left does not have. */
    Optional<String> leftName(String rightName) {
        if (!moves) {
            return Optional.of(rightName);
        }
        if (rightName.startsWith(FINAL_NORM) || rightName.startsWith(FINAL_LAYERNORM)) {
            return Optional.of(finalNorm + rightName.substring(rightName.indexOf("norm.") + "norm.".length()));
        }
        MegatronName name = MegatronName.parse(rightName);
        if (name.layer().isEmpty()) {
            return Optional.of(rightName);
        }
        boolean ofMlp = MLP_PREFIXES.stream().anyMatch(name.suffix()::startsWith);
        return rightLayers.getOrDefault(name.layer().getAsInt(), List.of()).stream()
                .filter(found -> found.part().alone() || found.part().feedsForward() == ofMlp)
                .findFirst()
                .map(found -> "decoder.layers." + found.leftLayer() + "." + name.suffix());
    }
}
