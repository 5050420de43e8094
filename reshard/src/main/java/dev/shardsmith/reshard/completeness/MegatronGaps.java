package dev.shardsmith.reshard.completeness;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.family.LayerSignature;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;

/** What a model of Megatron's family lacks, by the keys that its layers need, by its other layers and by its saved options. */
final class MegatronGaps {
    /** More are not listed: the checkpoint is hopeless then, and options may claim any number of layers. */
    private static final int MOST = 1000;

    private static final String LAYERS = "decoder.layers.";

    private final Optional<MegatronArgs> args;
    private final Optional<String> pattern;
    private final MegatronParts parts;
    private final boolean published;
    private final boolean transformer;
    private final List<Gap> gaps = new ArrayList<>();

    private MegatronGaps(ModelView view) {
        this.args = view.state().args();
        this.pattern = view.pattern();
        this.parts = MegatronParts.of(view);
        // NemotronH's routers have the bias but where a model without it was written under these names.
        this.published = view.layout() == ModelView.Layout.HUGGINGFACE
                && args.map(given -> given.flag("moe_router_enable_expert_bias", false))
                        .orElse(false);
        this.transformer = parts.isTransformer();
    }

    static List<Gap> of(ModelView view) {
        MegatronGaps finder = new MegatronGaps(view);
        finder.find();
        return finder.gaps;
    }

    private void find() {
        if (!parts.model().has("embedding.word_embeddings.weight")) {
            gaps.add(Gap.tensor("embedding.word_embeddings.weight", "every model has an embedding"));
        }
        numbering();
        if (!isHeterogeneous()) {
            Map<List<LayerKind>, List<LayerParts>> alike = new LinkedHashMap<>();
            for (LayerParts layer : parts.allLayers()) {
                List<LayerKind> kinds = kinds(layer);
                layer(layer, kinds);
                alike.computeIfAbsent(kinds, none -> new ArrayList<>()).add(layer);
            }
            alike.forEach(this::compare);
        }
        norms();
        for (LayerParts block : parts.blocks().values()) {
            require(block, LayerKeys.prediction());
        }
        predictions();
        if (!parts.model().has("decoder.final_norm.weight") && !parts.model().has("decoder.final_layernorm.weight")) {
            gaps.add(Gap.tensor(
                    transformer ? "decoder.final_layernorm.weight" : "decoder.final_norm.weight",
                    "the norm after the last layer: is the last stage there?"));
        }
        boolean untied = args.map(given -> given.flag("untie_embeddings_and_output_weights", false))
                .orElse(false);
        if (untied && !parts.model().has("output_layer.weight")) {
            gaps.add(Gap.tensor("output_layer.weight", "the saved options say that it is not tied to the embedding"));
        }
    }

    /** Models whose layers are told one by one may have any parts in any of them. */
    private boolean isHeterogeneous() {
        return args.isPresent()
                && (args.get().value("heterogeneous_layers_config_path").isPresent()
                        || args.get().flag("heterogeneous_block_specs", false));
    }

    private void numbering() {
        int next = 0;
        for (int number : parts.layers().keySet()) {
            for (; next < number && gaps.size() < MOST; next++) {
                gaps.add(new Gap(Gap.Kind.LAYER, LAYERS + next + ".*", "layers behind it are there"));
            }
            next = number + 1;
        }
        Optional<HybridPattern> hybrid = hybrid();
        long expected = hybrid.map(text -> (long) text.layerCount())
                .orElseGet(
                        () -> args.map(given -> given.integer("num_layers", 0)).orElse(0L));
        String said = hybrid.isPresent()
                ? "the saved pattern has %d layers, the files hold %d"
                        .formatted(expected, parts.layers().size())
                : "the saved options say %d layers, the files hold %d"
                        .formatted(expected, parts.layers().size());
        for (; next < expected && gaps.size() < MOST; next++) {
            gaps.add(new Gap(Gap.Kind.LAST_LAYER, LAYERS + next + ".*", said));
        }
    }

    /** The saved pattern of a model that is no Transformer; an unreadable one says nothing. */
    private Optional<HybridPattern> hybrid() {
        if (pattern.isEmpty() || transformer) {
            return Optional.empty();
        }
        try {
            return Optional.of(HybridPattern.parse(pattern.get()));
        } catch (CheckpointException unreadable) {
            return Optional.empty();
        }
    }

    /** The parts that a layer has or should have; keys of a part that its kind of layer does not have are strays. */
    private List<LayerKind> kinds(LayerParts layer) {
        Set<String> known = known(layer);
        List<LayerKind> likely = LayerKeys.likely(known);
        Set<LayerKind> decided = LayerSignature.kinds(layer::has).keySet();
        if (transformer || decided.isEmpty()) {
            return likely;
        }
        return likely.stream()
                .filter(kind -> decided.contains(kind) || LayerKeys.isMostly(kind, known))
                .toList();
    }

    private static Set<String> known(LayerParts layer) {
        return layer.suffixes().stream()
                .filter(suffix -> MegatronName.parse(layer.prefix() + suffix).isKnown())
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private void layer(LayerParts layer, List<LayerKind> kinds) {
        if (kinds.isEmpty() && known(layer).size() == layer.suffixes().size()) {
            gaps.add(Gap.tensor(
                    layer.prefix() + "*", "of its layer there is only " + String.join(", ", layer.suffixes())));
        }
        for (LayerKind kind : kinds) {
            require(layer, LayerKeys.required(kind));
        }
        for (List<String> group : LayerKeys.together()) {
            if (layer.hasAny(group)) {
                group.stream()
                        .filter(suffix -> !layer.has(suffix))
                        .forEach(suffix ->
                                gaps.add(Gap.tensor(layer.prefix() + suffix, "its counterpart is there: " + group)));
            }
        }
        if (published && kinds.contains(LayerKind.EXPERTS) && !layer.has("mlp.router.expert_bias")) {
            gaps.add(Gap.tensor(layer.prefix() + "mlp.router.expert_bias", "every router of NemotronH has it"));
        }
        if (transformer && kinds.size() == 1) {
            boolean mixes = layer.hasIn("self_attention.");
            gaps.add(Gap.tensor(
                    layer.prefix() + (mixes ? "mlp.*" : "self_attention.*"),
                    "a layer of a Transformer has attention and a feed-forward part"));
        }
        if (kinds.contains(LayerKind.MAMBA) && lacksSkip(layer)) {
            gaps.add(Gap.tensor(layer.prefix() + "mixer.D", "Mamba layers have it"));
        }
        if (kinds.contains(LayerKind.EXPERTS)) {
            ExpertGaps.find(layer, gaps);
        }
    }

    /** Gated delta products have no skip; where the widths tell that a layer is none, the others speak. */
    private static boolean lacksSkip(LayerParts layer) {
        return !layer.has("mixer.D")
                && (layer.has("mixer.x_proj.weight") || LayerSignature.isMamba2WithoutSkip(layer::shape));
    }

    private void require(LayerParts layer, List<List<String>> groups) {
        for (List<String> group : groups) {
            if (!layer.hasAny(group)) {
                String names = group.size() == 1 ? "" : ", or as " + String.join(", ", group.subList(1, group.size()));
                gaps.add(Gap.tensor(layer.prefix() + group.get(0), "a layer of its kind needs it" + names));
            }
        }
    }

    private void compare(List<LayerKind> kinds, List<LayerParts> alike) {
        String title = kinds.stream().map(LayerKind::title).collect(Collectors.joining(" and "));
        Set<String> required = new LinkedHashSet<>();
        kinds.forEach(kind -> LayerKeys.required(kind).forEach(required::addAll));
        Consensus.compare(
                title,
                alike,
                suffix -> {
                    MegatronName name = new MegatronName(MegatronName.Scope.LAYER, LAYERS, suffix, OptionalInt.empty());
                    if (required.contains(suffix) || !name.isKnown() || ExpertGaps.isExperts(suffix)) {
                        return Optional.empty();
                    }
                    String meaning = suffix;
                    for (LayerKind kind : kinds) {
                        meaning = LayerKeys.meaning(kind, meaning);
                    }
                    return Optional.of(meaning);
                },
                gaps);
    }

    /** Norms as wide as the model have biases everywhere or nowhere. */
    private void norms() {
        List<String> lacking = new ArrayList<>();
        int biased = 0;
        List<LayerParts> all = parts.allLayers();
        all.add(parts.model());
        for (LayerParts layer : all) {
            for (String suffix : layer.suffixes()) {
                if (LayerKeys.isHiddenNorm(suffix)) {
                    String bias = LayerKeys.bias(suffix);
                    if (layer.has(bias)) {
                        biased++;
                    } else {
                        lacking.add(layer.prefix() + bias);
                    }
                }
            }
        }
        if (biased > 0) {
            String reason = "%d other norms have a bias".formatted(biased);
            lacking.forEach(name -> gaps.add(Gap.tensor(name, reason)));
        }
    }

    /** One block may serve several depths. */
    private void predictions() {
        int found = parts.blocks().size();
        boolean repeated =
                args.map(given -> given.flag("mtp_use_repeated_layer", false)).orElse(false);
        long expected = args.map(given -> given.integer("mtp_num_layers", 0)).orElse(0L);
        if (found > 0 && !repeated) {
            for (long depth = found; depth < expected && gaps.size() < MOST; depth++) {
                gaps.add(new Gap(
                        Gap.Kind.LAST_LAYER,
                        "mtp.layers." + depth + ".*",
                        "the saved options say %d prediction blocks, the files hold %d".formatted(expected, found)));
            }
        }
    }
}
