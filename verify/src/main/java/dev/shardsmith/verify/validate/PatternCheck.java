package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.pattern.StageLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/** Holds a pattern against the weights, layer by layer, and the stages of the files against those of a layout. */
final class PatternCheck {
    /** More than this of one kind says no more. */
    private static final int SHOWN = 20;

    private final WeightModel model;
    private final int pipeline;
    private final Findings findings;

    PatternCheck(WeightModel model, int pipeline, Findings findings) {
        this.model = model;
        this.pipeline = pipeline;
        this.findings = findings;
    }

    /**
     * Compares a pattern with the weights.
     *
     * @param name what to call the pattern: {@code saved pattern}
     * @param fix what to do about a wrong layer; may be empty
     */
    void compare(String name, HybridPattern pattern, String fix) {
        TreeMap<Integer, LayerWeights> layers = model.layers();
        int found = layers.isEmpty() ? 0 : layers.lastKey() + 1;
        if (pattern.layerCount() != found) {
            findings.error(
                    "pattern.length",
                    name,
                    "the pattern has %d layers, the weights have %d".formatted(pattern.layerCount(), found),
                    fix);
        }
        int wrong = 0;
        for (int number = 0; number < Math.min(found, pattern.layerCount()); number++) {
            LayerWeights layer = layers.get(number);
            LayerKind expected = pattern.layers().get(number);
            if (layer == null
                    || layer.kinds().containsKey(expected) && layer.kinds().size() == 1) {
                continue;
            }
            if (++wrong <= SHOWN) {
                mismatch(name, number, expected, layer, fix);
            }
        }
        if (wrong > SHOWN) {
            findings.error("pattern.layer", name, (wrong - SHOWN) + " further layers contradict the pattern", fix);
        }
        predictions(name, pattern, fix);
    }

    private void mismatch(String name, int number, LayerKind expected, LayerWeights layer, String fix) {
        Map<LayerKind, String> kinds = layer.kinds();
        String found = kinds.isEmpty() ? "no known kind" : symbols(layer);
        String key = kinds.isEmpty() ? "" : " (" + kinds.values().iterator().next() + ")";
        findings.error(
                "pattern.layer",
                "layer " + number + place(number),
                "the %s says %s, the weights say %s%s".formatted(name, expected.symbol(), found, key),
                fix);
    }

    private void predictions(String name, HybridPattern pattern, String fix) {
        int depths = model.predictions().size();
        if (depths == 0 && pattern.mtpDepths() == 0) {
            return;
        }
        // Depths that share one block have weights for the first depth only.
        boolean shared = depths == 1 && pattern.mtpDepths() > 1;
        if (depths != pattern.mtpDepths() && !shared) {
            findings.error(
                    "pattern.mtp",
                    name,
                    "the pattern has %d prediction depths, the weights have %d".formatted(pattern.mtpDepths(), depths),
                    fix);
        }
        if (shared) {
            findings.info(
                    "pattern.mtp",
                    name,
                    "one prediction block serves %d depths (mtp_use_repeated_layer)".formatted(pattern.mtpDepths()));
        }
        model.predictions().forEach((depth, layers) -> {
            StringBuilder found = new StringBuilder();
            layers.values().forEach(layer -> found.append(symbols(layer)));
            String expected = pattern.mtp().orElse("");
            if (!found.toString().equals(expected)) {
                findings.error(
                        "pattern.mtp",
                        "mtp.layers." + depth,
                        "the %s says %s, the weights say %s".formatted(name, expected, found),
                        fix);
            }
        });
    }

    /** Compares the layers that each stage of the files holds with a layout. */
    void compareStages(StageLayout layout) {
        List<TreeSet<Integer>> stages = model.stages();
        if (stages.size() < 2) {
            return;
        }
        if (stages.size() != layout.stages().size()) {
            findings.error(
                    "stages.count",
                    "stages",
                    "the files have %d stages, the saved args describe %d"
                            .formatted(stages.size(), layout.stages().size()),
                    "");
            return;
        }
        List<Integer> found = new ArrayList<>();
        stages.forEach(stage -> found.add(stage.size()));
        if (!found.equals(layout.layerCounts())) {
            findings.error(
                    "stages.layers",
                    "stages",
                    "the files hold %s layers per stage, the saved args describe %s"
                            .formatted(found, layout.layerCounts()),
                    "convert with --pp-layers, or correct the saved pattern");
        }
    }

    /** The table of layers; {@code pattern} gives the expected symbols. */
    List<LayerRow> table(Optional<HybridPattern> pattern) {
        List<LayerRow> rows = new ArrayList<>();
        model.layers().forEach((number, layer) -> {
            int stage = stage(number);
            String expected = pattern.isPresent() && number < pattern.get().layerCount()
                    ? Character.toString(pattern.get().layers().get(number).symbol())
                    : "";
            rows.add(new LayerRow(
                    number,
                    stage < 0 ? -1 : stage % pipeline,
                    stage < 0 ? 0 : stage / pipeline,
                    expected,
                    layer.kinds().isEmpty() ? "?" : symbols(layer),
                    layer.kinds().isEmpty()
                            ? ""
                            : layer.kinds().values().iterator().next(),
                    layer.tensors().size(),
                    WeightFacts.parameters(layer)));
        });
        return rows;
    }

    private String place(int number) {
        int stage = stage(number);
        if (stage < 0 || model.stages().size() < 2) {
            return "";
        }
        int local = model.stages().get(stage).headSet(number).size();
        return ", pp %d vp %d local %d".formatted(stage % pipeline, stage / pipeline, local);
    }

    private int stage(int number) {
        for (int stage = 0; stage < model.stages().size(); stage++) {
            if (model.stages().get(stage).contains(number)) {
                return stage;
            }
        }
        return -1;
    }

    private static String symbols(LayerWeights layer) {
        StringBuilder text = new StringBuilder();
        layer.kinds().keySet().forEach(kind -> text.append(kind.symbol()));
        return text.toString();
    }
}
