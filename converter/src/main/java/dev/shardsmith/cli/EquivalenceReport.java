package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.LayerRow;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;

/** The result of a forward check as text and as JSON. */
record EquivalenceReport(CheckReport report, String device) {

    void print(Out out) {
        Table table = new Table()
                .column("layer", Table.Align.RIGHT)
                .column("kind", Table.Align.LEFT)
                .column("max abs", Table.Align.RIGHT)
                .column("allowed", Table.Align.RIGHT)
                .column("", Table.Align.LEFT);
        for (LayerRow row : report.rows()) {
            table.row(
                    row.layer().map(String::valueOf).orElse("-"),
                    row.kind(),
                    real(row.maxAbs()),
                    real(row.bound()),
                    (row.ok() ? "ok" : "DIFFERENT")
                            + row.explanation().map(text -> ": " + text).orElse(""));
        }
        out.line("device " + device);
        out.line();
        out.table(table);
        out.line();
        out.line(report.ok() ? out.ink(Ink.GREEN, "equivalent") : out.ink(Ink.RED, "not equivalent"));
    }

    void write(JsonGenerator json) throws IOException {
        json.writeBooleanField("equivalent", report.ok());
        json.writeStringField("device", device);
        json.writeArrayFieldStart("layers");
        for (LayerRow row : report.rows()) {
            json.writeStartObject();
            json.writeNumberField("index", row.index());
            if (row.layer().isPresent()) {
                json.writeNumberField("layer", row.layer().get());
            }
            json.writeStringField("kind", row.kind());
            JsonParts.real(json, "maxAbs", row.maxAbs());
            JsonParts.real(json, "bound", row.bound());
            JsonParts.real(json, "size", row.size());
            json.writeBooleanField("ok", row.ok());
            Optional<LayerRow.Place> where = row.where();
            if (where.isPresent()) {
                json.writeNumberField("token", where.get().token());
                json.writeNumberField("channel", where.get().channel());
            }
            json.writeNumberField("skippedTokens", row.skipped());
            if (row.explanation().isPresent()) {
                json.writeStringField("hypothesis", row.explanation().get());
            } else {
                json.writeNullField("hypothesis");
            }
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static String real(double value) {
        return String.format(Locale.ROOT, "%.3g", value);
    }
}
