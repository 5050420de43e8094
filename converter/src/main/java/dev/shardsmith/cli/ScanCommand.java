package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.formats.torch.GlobalRisk;
import dev.shardsmith.formats.torch.ScanReport;
import dev.shardsmith.formats.torch.TorchScan;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.Options;

/** {@code shardsmith scan PATH}: what files would do if Python loaded them. */
final class ScanCommand implements Command {
    private static final int MOST_FINDINGS = 100;

    @Override
    public String name() {
        return "scan";
    }

    @Override
    public String summary() {
        return "tell what files would do if Python loaded them";
    }

    @Override
    public String description() {
        return "Reads a file, or all files below a folder, and reports what loading them with Python would import and call, "
                + "and in what they differ from files that PyTorch writes. Nothing is run. Exits with 0 if everything was "
                + "read and is harmless, with 1 if something speaks against loading, with 3 if not everything could be read. "
                + "How to read files beyond the usual limits: docs/troubleshooting.md#limits.";
    }

    @Override
    public List<String> operands() {
        return List.of("PATH");
    }

    @Override
    public Options options() {
        return Flags.of(Flags.json());
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("shardsmith scan samples/hybrid-tp2-pp2", "Look before loading a file from a stranger"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        ScanReport report = TorchScan.scan(line.path(0));
        ExitCode exit = switch (report.verdict()) {
            case CLEAN -> ExitCode.OK;
            case FINDINGS -> ExitCode.NO;
            case INCONCLUSIVE -> ExitCode.INPUT;
        };
        if (line.has("json")) {
            out.json(name(), exit.status(), json -> write(json, report));
        } else {
            print(out, report);
        }
        return exit;
    }

    private static void print(Out out, ScanReport report) {
        for (ScanReport.GlobalUse use : report.globals()) {
            if (use.risk() != GlobalRisk.ALLOWED && use.risk() != GlobalRisk.KNOWN) {
                out.line("%s  %s, %d times, first in %s at byte %d"
                        .formatted(word(use.risk()), use.name(), use.uses(), use.where(), use.offset()));
            }
        }
        report.findings().stream().limit(MOST_FINDINGS).forEach(finding -> {
            String severity = out.ink(ink(finding.severity()), word(finding.severity()));
            out.line("%s %s: %s".formatted(severity, finding.code(), finding.message()));
            out.line("  at: %s at byte %d".formatted(finding.where(), finding.offset()));
        });
        if (report.findings().size() > MOST_FINDINGS) {
            out.line("and %d more; --json lists all".formatted(report.findings().size() - MOST_FINDINGS));
        }
        String verdict = switch (report.verdict()) {
            case CLEAN -> out.ink(Ink.GREEN, "clean");
            case FINDINGS -> out.ink(Ink.RED, "findings");
            case INCONCLUSIVE -> out.ink(Ink.YELLOW, "inconclusive");
        };
        out.line("%s: %d files, %d classes and functions named, %d findings"
                .formatted(
                        verdict,
                        report.files().size(),
                        report.globals().size(),
                        report.findings().size()));
    }

    private static Ink ink(ScanReport.Severity severity) {
        return switch (severity) {
            case DANGER -> Ink.RED;
            case WARNING, UNREAD -> Ink.YELLOW;
        };
    }

    private static void write(JsonGenerator json, ScanReport report) throws IOException {
        json.writeStringField("verdict", word(report.verdict()));
        json.writeArrayFieldStart("findings");
        for (ScanReport.Finding finding : report.findings()) {
            json.writeStartObject();
            json.writeStringField("code", finding.code());
            json.writeStringField("severity", word(finding.severity()));
            json.writeStringField("where", finding.where());
            json.writeNumberField("offset", finding.offset());
            json.writeStringField("message", finding.message());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("globals");
        for (ScanReport.GlobalUse use : report.globals()) {
            json.writeStartObject();
            json.writeStringField("name", use.name());
            json.writeStringField("risk", word(use.risk()));
            json.writeNumberField("uses", use.uses());
            json.writeStringField("where", use.where());
            json.writeNumberField("offset", use.offset());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("files");
        for (ScanReport.ScannedFile file : report.files()) {
            json.writeStartObject();
            json.writeStringField("name", file.name());
            json.writeStringField("kind", word(file.kind()));
            json.writeBooleanField("complete", file.complete());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
