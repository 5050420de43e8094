package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Looks for parameters that are missing, that belong elsewhere, or that only some layers of a kind have. */
final class KeyCheck {
    private static final Pattern EXPERT = Pattern.compile(
            "(mlp\\.experts\\.(?:local_experts\\.)?)(?:(\\d{1,9})\\.(.+)|(linear_fc[12]\\.(?:weight|bias))(\\d{1,9}))");

    private final WeightModel model;
    private final Findings findings;

    KeyCheck(WeightModel model, Findings findings) {
        this.model = model;
        this.findings = findings;
    }

    void check() {
        modelKeys();
        numbering();
        List<LayerWeights> all = new ArrayList<>(model.layers().values());
        model.predictions().values().forEach(depth -> all.addAll(depth.values()));
        for (LayerWeights layer : all) {
            layer(layer);
        }
        consensus(all);
        for (LayerWeights block : model.predictionBlocks().values()) {
            required(block, KeyRules.prediction());
        }
    }

    private void modelKeys() {
        if (!model.model().containsKey("embedding.word_embeddings.weight")) {
            findings.error("keys.missing", "embedding.word_embeddings.weight", "there is no embedding", "");
        }
        boolean norm = model.model().containsKey("decoder.final_norm.weight")
                || model.model().containsKey("decoder.final_layernorm.weight");
        if (!norm) {
            findings.error(
                    "keys.missing",
                    "decoder.final_norm.weight",
                    "the norm after the last layer is missing: the last stage may be lost",
                    "");
        }
    }

    private void numbering() {
        TreeMap<Integer, LayerWeights> layers = model.layers();
        if (layers.isEmpty()) {
            findings.error("keys.missing", "decoder.layers", "there are no layers", "");
            return;
        }
        List<Integer> gaps = new ArrayList<>();
        int next = 0;
        for (int number : layers.keySet()) {
            for (; next < number && gaps.size() < 100; next++) {
                gaps.add(next);
            }
            next = number + 1;
        }
        if (!gaps.isEmpty()) {
            findings.error("layers.missing", "decoder.layers", "the weights lack layer " + join(gaps), "");
        }
    }

    private void layer(LayerWeights layer) {
        Map<LayerKind, String> kinds = layer.kinds();
        if (kinds.isEmpty()) {
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
        for (LayerKind kind : kinds.keySet()) {
            required(layer, KeyRules.required(kind));
        }
        if (kinds.containsKey(LayerKind.EXPERTS)) {
            experts(layer);
        }
        for (String suffix : layer.tensors().keySet()) {
            List<LayerKind> possible = KeyRules.kindsOf(suffix);
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

    private void required(LayerWeights layer, List<List<String>> groups) {
        for (List<String> group : groups) {
            if (group.stream().noneMatch(layer::has)) {
                findings.error(
                        "keys.missing",
                        layer.prefix() + group.get(0),
                        group.size() == 1 ? "it is missing" : "it is missing, under its other names too",
                        "");
            }
        }
    }

    private void experts(LayerWeights layer) {
        long experts = layer.shape("mlp.router.weight")
                .map(shape -> shape.rank() > 0 ? shape.size(0) : 0L)
                .orElse(0L);
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (String suffix : layer.tensors().keySet()) {
            var matcher = EXPERT.matcher(suffix);
            if (matcher.matches()) {
                counts.merge(matcher.group(3) == null ? matcher.group(4) : matcher.group(3), 1, Integer::sum);
            }
        }
        boolean stacked = layer.has("mlp.experts.linear_fc1.weight") || layer.has("mlp.experts.weight1");
        if (counts.isEmpty() && !stacked) {
            findings.error("keys.missing", layer.prefix() + "mlp.experts", "the experts are missing", "");
        }
        counts.forEach((parameter, count) -> {
            if (count != experts) {
                findings.error(
                        "experts.count",
                        layer.prefix() + "mlp.experts, " + parameter,
                        "the router chooses among %d experts, but %d are there".formatted(experts, count),
                        "");
            }
        });
    }

    /** What most layers of a kind have, all should have; a single layer is no majority. */
    private void consensus(List<LayerWeights> all) {
        Map<LayerKind, List<LayerWeights>> byKind = new LinkedHashMap<>();
        for (LayerWeights layer : all) {
            layer.kind()
                    .ifPresent(kind -> byKind.computeIfAbsent(kind, key -> new ArrayList<>())
                            .add(layer));
        }
        byKind.forEach((kind, layers) -> {
            Map<String, Integer> counts = new LinkedHashMap<>();
            for (LayerWeights layer : layers) {
                layer.tensors().keySet().forEach(suffix -> counts.merge(suffix, 1, Integer::sum));
            }
            counts.forEach((suffix, count) -> uneven(kind, layers, suffix, count));
            KeyRules.required(kind).forEach(group -> mixed(kind, group, counts));
        });
    }

    private void uneven(LayerKind kind, List<LayerWeights> layers, String suffix, int count) {
        if (count == layers.size() || EXPERT.matcher(suffix).matches() || isRequired(kind, suffix)) {
            return;
        }
        boolean common = 2 * count > layers.size();
        List<String> places = layers.stream()
                .filter(layer -> layer.has(suffix) != common)
                .map(LayerWeights::prefix)
                .limit(5)
                .toList();
        String message = common
                ? "%d of %d %s layers have it, but not %s".formatted(count, layers.size(), kind.title(), join(places))
                : "only %d of %d %s layers have it: %s".formatted(count, layers.size(), kind.title(), join(places));
        findings.error(common ? "keys.missing" : "keys.surplus", suffix, message, "");
    }

    private static boolean isRequired(LayerKind kind, String suffix) {
        return KeyRules.required(kind).stream().anyMatch(group -> group.contains(suffix));
    }

    private void mixed(LayerKind kind, List<String> group, Map<String, Integer> counts) {
        List<String> used = group.stream().filter(counts::containsKey).toList();
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
