package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentRemark;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.PatternArguments;
import dev.shardsmith.reshard.pattern.PatternArguments.Origin;
import dev.shardsmith.verify.launch.LaunchOption;
import dev.shardsmith.verify.launch.LaunchScript;
import dev.shardsmith.verify.validate.LaunchRow.Verdict;
import java.util.List;
import java.util.Optional;

/** The layers that a launch script's options describe, against those of the weights. */
final class LaunchPattern {
    private final LaunchScript script;
    private final LaunchArguments launch;
    private final WeightModel model;
    private final boolean copies;
    private final Findings findings;
    private final List<LaunchRow> rows;

    LaunchPattern(
            LaunchScript script,
            LaunchArguments launch,
            WeightModel model,
            boolean copies,
            Findings findings,
            List<LaunchRow> rows) {
        this.script = script;
        this.launch = launch;
        this.model = model;
        this.copies = copies;
        this.findings = findings;
        this.rows = rows;
    }

    void check() throws CheckpointException {
        for (String field : List.of("hybrid_layer_pattern", "hybrid_override_pattern", "num_layers")) {
            if (launch.isUnresolved(field)) {
                unknown(field);
                return;
            }
        }
        Optional<HybridPattern> found = model.pattern();
        int layers = model.layers().isEmpty() ? 0 : model.layers().lastKey() + 1;
        PatternArguments described;
        try {
            described = PatternArguments.of(launch.values(), PatternArguments.Source.COMMAND_LINE);
        } catch (CheckpointException e) {
            findings.error("launch.pattern", e.where(), e.problem(), e.hint().orElse(""));
            return;
        }
        if (described.origin() == Origin.NONE || model.isTransformer()) {
            layerCount(layers, found);
            return;
        }
        glob();
        for (ArgumentRemark remark : described.remarks()) {
            findings.add("launch.pattern", place(remark.field()), remark);
        }
        compare(described, found, layers);
    }

    private void compare(PatternArguments described, Optional<HybridPattern> found, int layers) {
        String field = described.origin().field();
        String shown = described.pattern().text();
        String stored = found.map(HybridPattern::text).orElse("");
        boolean same = found.isPresent()
                && found.get().layers().equals(described.pattern().layers())
                && found.get().mtp().equals(described.pattern().mtp());
        if (same) {
            row(field, shown, stored, Verdict.FITS, "");
            return;
        }
        if (copies) {
            row(field, shown, stored, Verdict.OVERRIDDEN, "--use-checkpoint-args takes the checkpoint's pattern");
            return;
        }
        String fix = found.map(pattern -> "--hybrid-layer-pattern '" + pattern.text() + "'")
                .orElse("");
        row(field, shown, stored, Verdict.FAILS, fix);
        String difference = found.map(pattern -> difference(described.pattern(), pattern))
                .orElse("the weights have %d layers".formatted(layers));
        findings.error(
                "launch.pattern",
                place(field),
                "the options describe '%s', the weights are '%s': %s".formatted(shown, stored, difference),
                fix);
    }

    private static String difference(HybridPattern described, HybridPattern found) {
        int shared = Math.min(described.layerCount(), found.layerCount());
        for (int layer = 0; layer < shared; layer++) {
            if (described.layers().get(layer) != found.layers().get(layer)) {
                return "layer %d is %s here and %s in the weights"
                        .formatted(
                                layer,
                                described.layers().get(layer).symbol(),
                                found.layers().get(layer).symbol());
            }
        }
        return described.layerCount() == found.layerCount()
                ? "the prediction part differs"
                : "%d layers here, %d in the weights".formatted(described.layerCount(), found.layerCount());
    }

    private void layerCount(int layers, Optional<HybridPattern> found) {
        boolean hybrid = found.isPresent();
        String given = launch.shown("num_layers");
        if (hybrid && !copies) {
            String fix = "--hybrid-layer-pattern '" + found.get().text() + "'";
            findings.error(
                    "launch.pattern",
                    script.name(),
                    "the checkpoint is a hybrid model, but no option gives its layer pattern",
                    fix);
            rows.add(new LaunchRow(
                    "--hybrid-layer-pattern", 0, "None", found.get().text(), Verdict.FAILS, fix));
            return;
        }
        boolean same = given.equals(Integer.toString(layers));
        Verdict verdict = same ? Verdict.FITS : copies ? Verdict.OVERRIDDEN : Verdict.FAILS;
        row("num_layers", given, Integer.toString(layers), verdict, same ? "" : "--num-layers " + layers);
        if (verdict == Verdict.FAILS) {
            findings.error(
                    "launch.fails",
                    place("num_layers"),
                    "num_layers is %s, but the checkpoint has %d layers".formatted(given, layers),
                    "--num-layers " + layers);
        }
    }

    private void glob() {
        for (String field : List.of("hybrid_layer_pattern", "hybrid_override_pattern")) {
            launch.option(field)
                    .filter(LaunchOption::glob)
                    .ifPresent(option -> findings.warning(
                            "launch.quotes",
                            place(field),
                            "the * of the pattern stands without quotes and could become file names",
                            option.name() + " '" + option.value() + "'"));
        }
    }

    private void unknown(String field) {
        String stored;
        try {
            stored = model.pattern().map(HybridPattern::text).orElse("");
        } catch (CheckpointException e) {
            stored = "";
        }
        row(field, launch.shown(field), stored, Verdict.UNKNOWN, "depends on a variable that the script does not set");
        findings.warning(
                "launch.unresolved",
                place(field),
                "%s is %s, which the script does not set".formatted(field, launch.shown(field)),
                stored.isEmpty() ? "" : "--hybrid-layer-pattern '" + stored + "'");
    }

    private void row(String field, String shown, String stored, Verdict verdict, String note) {
        String option =
                MegatronOption.ofField(field).map(MegatronOption::option).orElse(field);
        Optional<LaunchOption> given = launch.option(field);
        rows.add(new LaunchRow(
                given.map(LaunchOption::name).orElse(option),
                given.map(LaunchOption::line).orElse(0),
                shown,
                stored,
                verdict,
                note));
    }

    private String place(String field) {
        return launch.option(field)
                .map(option -> script.name() + ":" + option.line() + ", " + option.name())
                .orElse(script.name());
    }
}
