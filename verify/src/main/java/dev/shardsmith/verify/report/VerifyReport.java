package dev.shardsmith.verify.report;

import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.LayerRow;
import dev.shardsmith.verify.check.LogitsComparison;
import dev.shardsmith.verify.report.ReportDocument.Fact;
import dev.shardsmith.verify.report.ReportDocument.LayerCell;
import dev.shardsmith.verify.report.ReportDocument.LayerMap;
import dev.shardsmith.verify.report.ReportDocument.Scale;
import dev.shardsmith.verify.report.ReportDocument.Severity;
import dev.shardsmith.verify.report.ReportDocument.StateTable;
import dev.shardsmith.verify.report.ReportDocument.Tone;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The report of a forward check of two checkpoints. */
public final class VerifyReport {
    /** What the parts of a multi-token-prediction depth have before their kind. */
    private static final String PREDICTION = "mtp ";

    private VerifyReport() {}

    /**
     * The document.
     *
     * @param left what the first checkpoint is
     * @param right what the second checkpoint is
     * @param device where it was computed
     * @param logits how the predictions of the whole models compare, if they were run
     * @param footer the last line
     */
    public static ReportDocument of(
            String left,
            String right,
            CheckReport check,
            String device,
            Optional<LogitsComparison> logits,
            String footer) {
        long wrong = check.different();
        boolean sameLogits = logits.map(LogitsComparison::ok).orElse(true);
        ReportDocument.Builder report = ReportDocument.of(
                "verify",
                verdict(check, sameLogits),
                wrong > 0 || !sameLogits
                        ? Tone.BAD
                        : check.notRun() + check.inconclusive() > 0 ? Tone.WARNING : Tone.GOOD);
        report.subject("left", left).subject("right", right);
        report.fact("device", device)
                .fact("compared", Amounts.count(check.rows().size()));
        check.firstDivergence().ifPresent(row -> report.fact("first divergence", name(row)));
        check.notes().forEach(note -> report.fact("rounded", note));
        logits.ifPresent(found -> report.fact(
                        "same first prediction",
                        Amounts.count(found.sameFirst()) + " of " + Amounts.count(found.tokens()))
                .fact("divergence", real(found.divergence()) + " nats"));
        for (LayerRow row : check.rows()) {
            if (!row.ok()) {
                report.finding(finding(row));
            }
        }
        LayerMap map = map(check.rows());
        if (!map.cells().isEmpty()) {
            report.layers(map);
        }
        return report.state(table(check.rows())).footer(footer).build();
    }

    private static String verdict(CheckReport check, boolean sameLogits) {
        if (check.different() > 0) {
            return check.different() + " of " + check.rows().size() + " parts compute something else";
        }
        if (sameLogits && check.notRun() > 0) {
            return "What was run computes the same; " + check.notRun() + " of "
                    + check.rows().size() + " parts were not run";
        }
        if (sameLogits && check.inconclusive() > 0) {
            return "Nothing differs, but " + check.inconclusive() + " of "
                    + check.rows().size() + " parts prove nothing";
        }
        return sameLogits
                ? "Both checkpoints compute the same"
                : "The layers agree, the predictions of the whole models do not";
    }

    private static String name(LayerRow row) {
        return row.layer().map(layer -> "layer " + layer + ", " + row.kind()).orElse(row.kind());
    }

    private static ReportDocument.Finding finding(LayerRow row) {
        if (row.verdict() == LayerRow.Verdict.NOT_RUN) {
            String tensors = row.explanation().orElse("");
            return new ReportDocument.Finding(
                    Severity.WARNING, "verify.not-run", name(row), "no forward pass is known for " + tensors, "");
        }
        if (row.verdict() == LayerRow.Verdict.INCONCLUSIVE) {
            return new ReportDocument.Finding(
                    Severity.WARNING,
                    "verify.inconclusive",
                    name(row),
                    row.explanation().orElse(""),
                    "");
        }
        String difference = Double.isNaN(row.maxAbs())
                ? "it was not compared"
                : "the results differ by " + real(row.maxAbs()) + ", rounding explains " + real(row.bound())
                        + row.where()
                                .map(at -> ", at token " + at.token() + ", channel " + at.channel())
                                .orElse("");
        String because = row.explanation().map(text -> ": " + text).orElse("");
        return new ReportDocument.Finding(Severity.ERROR, "verify.different", name(row), difference + because, "");
    }

    private static LayerMap map(List<LayerRow> rows) {
        Map<String, String> kinds = new LinkedHashMap<>();
        List<LayerCell> cells = new ArrayList<>();
        for (LayerRow row : rows) {
            if (row.layer().isEmpty()) {
                continue;
            }
            String kind = row.kind().startsWith(PREDICTION) ? row.kind().substring(PREDICTION.length()) : row.kind();
            String symbol = symbol(kind);
            kinds.putIfAbsent(symbol, kind);
            cells.add(new LayerCell(
                    row.index(),
                    String.valueOf(row.layer().get()),
                    symbol,
                    excess(row),
                    row.explanation().orElse(row.ok() ? "agrees" : "")));
        }
        List<Fact> legend = kinds.entrySet().stream()
                .map(kind -> new Fact(kind.getKey(), kind.getValue()))
                .toList();
        return new LayerMap("difference in units of what rounding explains", Scale.DIFFERENCE, legend, cells);
    }

    /** The letter of a kind in a pattern; the first letter of its name if patterns do not know it. */
    private static String symbol(String kind) {
        return switch (kind) {
            case "mamba" -> String.valueOf(LayerKind.MAMBA.symbol());
            case "attention" -> String.valueOf(LayerKind.ATTENTION.symbol());
            case "mlp" -> String.valueOf(LayerKind.MLP.symbol());
            case "moe" -> String.valueOf(LayerKind.EXPERTS.symbol());
            default -> kind.substring(0, 1).toUpperCase(Locale.ROOT);
        };
    }

    private static double excess(LayerRow row) {
        if (row.verdict() != LayerRow.Verdict.DIFFERENT) {
            return 0;
        }
        return row.bound() > 0 ? row.maxAbs() / row.bound() : Double.POSITIVE_INFINITY;
    }

    private static StateTable table(List<LayerRow> rows) {
        return new StateTable(
                "Results",
                "Results of both checkpoints on the same input.",
                List.of("part", "outcome", "max abs", "allowed", "largest result", "unseen"),
                rows.stream()
                        .map(row -> List.of(
                                name(row),
                                outcome(row),
                                real(row.maxAbs()),
                                real(row.bound()),
                                real(row.size()),
                                real(row.resolution())))
                        .toList());
    }

    private static String outcome(LayerRow row) {
        return switch (row.verdict()) {
            case SAME -> "agrees";
            case DIFFERENT -> "differs";
            case INCONCLUSIVE -> "proves nothing";
            case NOT_RUN -> "not run";
        };
    }

    private static String real(double value) {
        return Double.isNaN(value) ? "–" : String.format(Locale.ROOT, "%.3g", value);
    }
}
