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
import dev.shardsmith.verify.forward.Timeline;
import dev.shardsmith.verify.report.ReportDocument;
import dev.shardsmith.verify.report.VerifyReport;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;

/** The result of a forward check as text and as JSON. */
record EquivalenceReport(CheckReport report, String device, Optional<LogitsComparison> logits) {

    /**
     * Runs the layers of two models on the device that the options ask for.
     *
     * @param whole whether both whole models are run too, on the same random tokens
     */
    static EquivalenceReport of(
            LayeredModel left,
            LayeredModel right,
            CheckOptions options,
            Timeline timeline,
            boolean whole,
            Arguments line)
            throws UsageException, IOException {
        ForwardBackend backend = Device.open(line);
        try {
            ForwardCheck check = new ForwardCheck(backend, left, right, options, timeline);
            CheckReport report = check.run(row -> {});
            Optional<LogitsComparison> logits = whole && known(left) && known(right)
                    ? Optional.of(logits(backend, check.left(), check.right(), options))
                    : Optional.empty();
            return new EquivalenceReport(report, backend.availability().detail(), logits);
        } finally {
            Device.close(backend);
        }
    }

    /** Whether it is known what the whole model computes. */
    private static boolean known(LayeredModel model) {
        return model.remainder().doubts().isEmpty();
    }

    private static LogitsComparison logits(
            ForwardBackend backend, LayeredModel left, LayeredModel right, CheckOptions options) throws IOException {
        int[] ids = new SplittableRandom(options.seed())
                .ints((long) options.batch() * options.length(), 0, Math.min(left.vocabulary(), right.vocabulary()))
                .toArray();
        return LogitsComparison.of(
                left.logits(backend, ids, options.batch(), options.length(), (done, all) -> {}),
                right.logits(backend, ids, options.batch(), options.length(), (done, all) -> {}),
                ids.length);
    }

    /** No if anything differs; inconclusive if all that was run agrees but something was not run. */
    ExitCode exit() {
        if (report.different() > 0 || !logits.map(LogitsComparison::ok).orElse(true)) {
            return ExitCode.NO;
        }
        return report.notRun() + report.inconclusive() > 0 ? ExitCode.INPUT : ExitCode.OK;
    }

    boolean equivalent() {
        return exit() == ExitCode.OK;
    }

    void print(Out out) {
        Table table = new Table()
                .column("layer", Table.Align.RIGHT)
                .column("kind", Table.Align.LEFT)
                .column("max abs", Table.Align.RIGHT)
                .column("allowed", Table.Align.RIGHT)
                .column("unseen", Table.Align.RIGHT)
                .column("", Table.Align.LEFT);
        for (LayerRow row : report.rows()) {
            table.row(
                    row.layer().map(String::valueOf).orElse("-"),
                    row.kind(),
                    real(row.maxAbs()),
                    Double.isNaN(row.maxAbs()) ? "-" : real(row.bound()),
                    real(row.resolution()),
                    verdict(row) + row.explanation().map(text -> ": " + text).orElse(""));
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
        if (report.notRun() > 0) {
            out.line("not run, because no forward pass is known for it: " + report.notRun() + " of "
                    + report.rows().size() + " rows");
        }
        if (report.inconclusive() > 0) {
            out.line("inconclusive, because results that differ would look the same or options deny the weights: "
                    + report.inconclusive() + " of " + report.rows().size() + " rows");
        }
        report.notes().forEach(out::line);
        out.line(conclusion(out));
    }

    private String conclusion(Out out) {
        if (exit() == ExitCode.NO) {
            return out.ink(Ink.RED, "not equivalent");
        }
        return equivalent()
                ? out.ink(Ink.GREEN, "equivalent")
                : out.ink(Ink.YELLOW, "inconclusive: nothing differs, but not all of it is proven");
    }

    private static String verdict(LayerRow row) {
        return switch (row.verdict()) {
            case SAME -> "ok";
            case DIFFERENT -> "DIFFERENT";
            case INCONCLUSIVE -> "INCONCLUSIVE";
            case NOT_RUN -> "NOT RUN";
        };
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
            JsonParts.real(json, "resolution", row.resolution());
            json.writeBooleanField("ok", row.ok());
            json.writeBooleanField("conclusive", row.verdict() != LayerRow.Verdict.INCONCLUSIVE);
            json.writeBooleanField("run", row.verdict() != LayerRow.Verdict.NOT_RUN);
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
        json.writeArrayFieldStart("notes");
        for (String note : report.notes()) {
            json.writeString(note);
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
        return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, "%.3g", value);
    }
}
