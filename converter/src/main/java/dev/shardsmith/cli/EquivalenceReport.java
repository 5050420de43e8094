package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.verify.check.CheckOptions;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.ForwardCheck;
import dev.shardsmith.verify.check.LayerRow;
import dev.shardsmith.verify.check.LogitsComparison;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.report.ReportDocument;
import dev.shardsmith.verify.report.VerifyReport;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;

/** The result of a forward check as text and as JSON. */
record EquivalenceReport(CheckReport report, String device, Optional<LogitsComparison> logits) {

    /** Runs the layers of two models on the device that the options ask for. */
    static EquivalenceReport ofLayers(LayeredModel left, LayeredModel right, CheckOptions options, Arguments line)
            throws UsageException, IOException {
        ForwardBackend backend = Device.open(line);
        try {
            CheckReport report = new ForwardCheck(backend, left, right, options).run(row -> {});
            return new EquivalenceReport(report, backend.availability().detail(), Optional.empty());
        } finally {
            Device.close(backend);
        }
    }

    boolean equivalent() {
        return report.ok() && logits.map(LogitsComparison::ok).orElse(true);
    }

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
        logits.ifPresent(found -> out.line(
                "predictions: %d of %d tokens rank the same entry first, %.1f %% of the top %d are shared, divergence %s nats"
                        .formatted(
                                found.sameFirst(),
                                found.tokens(),
                                100 * found.sharedTop(),
                                LogitsComparison.TOP,
                                real(found.divergence()))));
        out.line(equivalent() ? out.ink(Ink.GREEN, "equivalent") : out.ink(Ink.RED, "not equivalent"));
    }

    /** The result as a page; {@code left} and {@code right} say what was compared. */
    ReportDocument document(String left, String right) {
        return VerifyReport.of(left, right, report, device, logits, Version.TOOL + " " + Version.current());
    }

    void write(JsonGenerator json) throws IOException {
        json.writeBooleanField("equivalent", equivalent());
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
        if (logits.isPresent()) {
            json.writeObjectFieldStart("logits");
            json.writeNumberField("tokens", logits.get().tokens());
            JsonParts.real(json, "maxAbs", logits.get().maxAbs());
            JsonParts.real(json, "size", logits.get().size());
            json.writeNumberField("sameFirst", logits.get().sameFirst());
            JsonParts.real(json, "sharedTop", logits.get().sharedTop());
            JsonParts.real(json, "divergence", logits.get().divergence());
            json.writeEndObject();
        }
    }

    private static String real(double value) {
        return String.format(Locale.ROOT, "%.3g", value);
    }
}
