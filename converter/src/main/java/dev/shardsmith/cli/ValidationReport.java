package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.verify.validate.Finding;
import dev.shardsmith.verify.validate.LaunchRow;
import dev.shardsmith.verify.validate.LayerRow;
import dev.shardsmith.verify.validate.Validation;
import java.io.IOException;
import java.util.Optional;

/** The result of a validation as text and as JSON. */
final class ValidationReport {
    private final Validation validation;

    ValidationReport(Validation validation) {
        this.validation = validation;
    }

    void print(Out out) {
        pattern(out, "saved", validation.saved());
        pattern(out, "given", validation.given());
        pattern(out, "weights", validation.inferred());
        boolean contradiction = validation.layers().stream().anyMatch(ValidationReport::contradicts);
        if (contradiction) {
            layers(out);
        }
        if (!validation.launch().isEmpty()) {
            launch(out);
        }
        if (!validation.findings().isEmpty()) {
            out.line();
        }
        for (Finding finding : validation.findings()) {
            String severity =
                    out.ink(ink(finding.severity()), finding.severity().id());
            out.paragraph("%s %s: %s".formatted(severity, finding.code(), finding.message()));
            out.paragraph("  at: " + finding.where());
            if (!finding.fix().isEmpty()) {
                out.paragraph("  try: " + finding.fix());
            }
        }
        out.line();
        out.line(validation.valid() ? out.ink(Ink.GREEN, "valid") : out.ink(Ink.RED, "invalid"));
    }

    private static void pattern(Out out, String name, Optional<String> pattern) {
        pattern.ifPresent(text -> out.line("%-8s %s".formatted(name, text)));
    }

    private static boolean contradicts(LayerRow row) {
        return !row.expected().isEmpty() && !row.expected().equals(row.found());
    }

    private void layers(Out out) {
        Table table = new Table()
                .column("layer", Table.Align.RIGHT)
                .column("pp", Table.Align.RIGHT)
                .column("pattern", Table.Align.LEFT)
                .column("weights", Table.Align.LEFT)
                .column("decided by", Table.Align.LEFT);
        validation.layers().stream()
                .filter(ValidationReport::contradicts)
                .forEach(row -> table.row(
                        String.valueOf(row.layer()),
                        row.pp() < 0 ? "-" : String.valueOf(row.pp()),
                        row.expected(),
                        row.found(),
                        row.key()));
        out.line();
        out.table(table);
    }

    private void launch(Out out) {
        Table table = new Table()
                .column("option", Table.Align.LEFT)
                .column("line", Table.Align.RIGHT)
                .column("script", Table.Align.LEFT)
                .column("checkpoint", Table.Align.LEFT)
                .column("verdict", Table.Align.LEFT);
        for (LaunchRow row : validation.launch()) {
            table.row(
                    row.option(),
                    row.line() == 0 ? "-" : String.valueOf(row.line()),
                    row.given(),
                    row.checkpoint(),
                    row.verdict().id());
            if (!row.note().isEmpty()) {
                table.detail(row.note());
            }
        }
        out.line();
        out.table(table);
    }

    private static Ink ink(Finding.Severity severity) {
        return switch (severity) {
            case ERROR -> Ink.RED;
            case WARNING -> Ink.YELLOW;
            case INFO -> Ink.DIM;
        };
    }

    void write(JsonGenerator json) throws IOException {
        json.writeBooleanField("valid", validation.valid());
        json.writeObjectFieldStart("pattern");
        optional(json, "saved", validation.saved());
        optional(json, "given", validation.given());
        optional(json, "inferred", validation.inferred());
        json.writeEndObject();
        json.writeArrayFieldStart("findings");
        for (Finding finding : validation.findings()) {
            json.writeStartObject();
            json.writeStringField("code", finding.code());
            json.writeStringField("severity", finding.severity().id());
            json.writeStringField("where", finding.where());
            json.writeStringField("message", finding.message());
            json.writeStringField("fix", finding.fix());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("layers");
        for (LayerRow row : validation.layers()) {
            json.writeStartObject();
            json.writeNumberField("layer", row.layer());
            json.writeNumberField("pp", row.pp());
            json.writeNumberField("vp", row.vp());
            json.writeStringField("expected", row.expected());
            json.writeStringField("found", row.found());
            json.writeStringField("key", row.key());
            json.writeNumberField("tensors", row.tensors());
            json.writeNumberField("parameters", row.parameters());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("launch");
        for (LaunchRow row : validation.launch()) {
            json.writeStartObject();
            json.writeStringField("option", row.option());
            json.writeNumberField("line", row.line());
            json.writeStringField("given", row.given());
            json.writeStringField("checkpoint", row.checkpoint());
            json.writeStringField("verdict", row.verdict().id());
            json.writeStringField("note", row.note());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void optional(JsonGenerator json, String field, Optional<String> value) throws IOException {
        if (value.isPresent()) {
            json.writeStringField(field, value.get());
        } else {
            json.writeNullField(field);
        }
    }
}
