package dev.shardsmith.verify.report;

import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.report.ReportDocument.Fact;
import dev.shardsmith.verify.report.ReportDocument.LayerCell;
import dev.shardsmith.verify.report.ReportDocument.LayerMap;
import dev.shardsmith.verify.report.ReportDocument.Scale;
import dev.shardsmith.verify.report.ReportDocument.Severity;
import dev.shardsmith.verify.report.ReportDocument.StateTable;
import dev.shardsmith.verify.report.ReportDocument.Tone;
import dev.shardsmith.verify.validate.Finding;
import dev.shardsmith.verify.validate.LaunchRow;
import dev.shardsmith.verify.validate.LayerRow;
import dev.shardsmith.verify.validate.Validation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** The report of a validation. */
public final class ValidateReport {
    private ValidateReport() {}

    /**
     * The document.
     *
     * @param footer the last line
     */
    public static ReportDocument of(ModelView view, Validation validation, String footer) {
        long errors = validation.findings().stream()
                .filter(finding -> finding.severity() == Finding.Severity.ERROR)
                .count();
        ReportDocument.Builder report = ReportDocument.of(
                "validate",
                errors == 0
                        ? "The checkpoint is valid"
                        : "The checkpoint has " + errors + (errors == 1 ? " error" : " errors"),
                errors == 0 ? Tone.GOOD : Tone.BAD);
        report.subject("checkpoint", view.path() + ", " + view.layout().id() + ", " + view.parallelism());
        validation.saved().ifPresent(pattern -> report.fact("saved pattern", pattern));
        validation.given().ifPresent(pattern -> report.fact("given pattern", pattern));
        validation.inferred().ifPresent(pattern -> report.fact("pattern of the weights", pattern));
        validation.findings().stream()
                .map(ValidateReport::finding)
                .sorted(Comparator.comparing(ReportDocument.Finding::severity))
                .forEach(report::finding);
        if (!validation.layers().isEmpty()) {
            report.layers(layers(validation.layers()));
        }
        if (!validation.launch().isEmpty()) {
            report.state(launch(validation.launch()));
        }
        return report.footer(footer).build();
    }

    private static ReportDocument.Finding finding(Finding finding) {
        Severity severity = switch (finding.severity()) {
            case ERROR -> Severity.ERROR;
            case WARNING -> Severity.WARNING;
            case INFO -> Severity.INFO;
        };
        return new ReportDocument.Finding(severity, finding.code(), finding.where(), finding.message(), finding.fix());
    }

    private static LayerMap layers(List<LayerRow> rows) {
        List<Fact> kinds = Stream.of(LayerKind.values())
                .filter(kind -> rows.stream().anyMatch(row -> row.found().indexOf(kind.symbol()) >= 0))
                .map(kind -> new Fact(Character.toString(kind.symbol()), kind.title()))
                .toList();
        List<LayerCell> cells = new ArrayList<>();
        for (LayerRow row : rows) {
            boolean wrong = !row.expected().isEmpty() && !row.expected().equals(row.found());
            String note = wrong ? "the pattern says " + row.expected() : "";
            cells.add(new LayerCell(
                    row.layer(),
                    Integer.toString(row.layer()),
                    row.found(),
                    wrong ? Double.POSITIVE_INFINITY : 0,
                    note));
        }
        return new LayerMap("whether the pattern says what the weights are", Scale.DIFFERENCE, kinds, cells);
    }

    private static StateTable launch(List<LaunchRow> rows) {
        return new StateTable(
                "Launch script",
                "Options of the launch script against the checkpoint.",
                List.of("option", "given", "checkpoint", "verdict", "what to do"),
                rows.stream()
                        .map(row -> List.of(
                                row.option(),
                                row.given(),
                                row.checkpoint(),
                                row.verdict().id(),
                                row.note()))
                        .toList());
    }
}
