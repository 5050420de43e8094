package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.completeness.Gap;
import dev.shardsmith.reshard.completeness.LayerKeys;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Looks for parameters that belong elsewhere or are spelled in several ways; what is missing is known already. */
final class KeyCheck {
    private final WeightModel model;
    private final Findings findings;

    KeyCheck(WeightModel model, Findings findings) {
        this.model = model;
        this.findings = findings;
    }

    /** Looks at all layers; of a layer that is known to lack something, its kind is not doubted. */
    void check(List<Gap> gaps) {
        if (model.layers().isEmpty()) {
            findings.error("keys.missing", "decoder.layers", "there are no layers", "");
        }
        List<LayerWeights> all = new ArrayList<>(model.layers().values());
        model.predictions().values().forEach(depth -> all.addAll(depth.values()));
        for (LayerWeights layer : all) {
            boolean incomplete = gaps.stream().anyMatch(gap -> gap.name().startsWith(layer.prefix()));
            layer(layer, incomplete);
        }
        spellings(all);
    }

    private void layer(LayerWeights layer, boolean incomplete) {
        Map<LayerKind, String> kinds = layer.kinds();
        if (kinds.isEmpty()) {
            if (incomplete) {
                return;
            }
            findings.error(
                    "layer.kind",
                    layer.prefix(),
                    "its keys are those of no kind of layer: "
                            + join(layer.tensors().keySet().stream().limit(5).toList()),
                    "");
            return;
        }
        if (kinds.size() > 1 && !model.isTransformer()) {
            findings.error(
                    "layer.kind", layer.prefix(), "it has the keys of two kinds of layer: " + join(kinds.values()), "");
        }
        if (kinds.containsKey(LayerKind.EXPERTS)) {
            experts(layer);
        }
        for (String suffix : layer.tensors().keySet()) {
            List<LayerKind> possible = LayerKeys.kindsOf(suffix);
            if (!possible.isEmpty() && possible.stream().noneMatch(kinds::containsKey)) {
                findings.error(
                        "keys.surplus",
                        layer.prefix() + suffix,
                        "a %s layer has no such parameter"
                                .formatted(kinds.keySet().iterator().next().title()),
                        "");
            }
        }
    }

    /** More experts than the router knows; fewer are gaps. */
    private void experts(LayerWeights layer) {
        long experts = layer.shape("mlp.router.weight")
                .filter(shape -> shape.rank() > 0)
                .map(shape -> shape.size(0))
                .orElse(Long.MAX_VALUE);
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (String suffix : layer.tensors().keySet()) {
            if (MegatronExperts.number(suffix) >= 0) {
                counts.merge(MegatronExperts.withoutNumber(suffix), 1, Integer::sum);
            }
        }
        counts.forEach((parameter, count) -> {
            if (count > experts) {
                findings.error(
                        "experts.count",
                        layer.prefix() + parameter,
                        "the router chooses among %d experts, but %d are there".formatted(experts, count),
                        "");
            }
        });
    }

    private void spellings(List<LayerWeights> all) {
        Map<LayerKind, Set<String>> byKind = new LinkedHashMap<>();
        for (LayerWeights layer : all) {
            layer.kind()
                    .ifPresent(kind -> byKind.computeIfAbsent(kind, key -> new LinkedHashSet<>())
                            .addAll(layer.tensors().keySet()));
        }
        byKind.forEach((kind, suffixes) -> LayerKeys.required(kind).forEach(group -> mixed(kind, group, suffixes)));
    }

    private void mixed(LayerKind kind, List<String> group, Set<String> suffixes) {
        List<String> used = group.stream().filter(suffixes::contains).toList();
        if (used.size() > 1) {
            findings.warning(
                    "keys.mixed",
                    join(used),
                    "%s layers spell one parameter in several ways; no release reads them all".formatted(kind.title()),
                    "");
        }
    }

    private static String join(Iterable<?> items) {
        StringBuilder text = new StringBuilder();
        for (Object item : items) {
            text.append(text.isEmpty() ? "" : ", ").append(item);
        }
        return text.toString();
    }
}
