package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.ProgressMeter;
import dev.shardsmith.cli.terminal.ProgressStyle;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.cli.terminal.Terminal;
import dev.shardsmith.cli.terminal.Wrapping;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/** Where a command writes: its report to standard output, warnings and progress to standard error. */
final class Out {
    private final PrintStream reports;
    private final PrintStream messages;
    private final Terminal terminal;
    private final boolean quiet;
    private final ProgressStyle progressStyle;
    private final List<String> warnings = new ArrayList<>();

    Out(PrintStream reports, PrintStream messages, Terminal terminal, boolean quiet, ProgressStyle progressStyle) {
        this.reports = reports;
        this.messages = messages;
        this.terminal = terminal;
        this.quiet = quiet;
        this.progressStyle = progressStyle;
    }

    /** The terminal that reports are shown on. */
    Terminal terminal() {
        return terminal;
    }

    /** Prints one line of the report. */
    void line(String text) {
        reports.print(text);
        reports.print('\n');
    }

    /** Prints a sentence of the report, broken to the width of the terminal; further lines hang. */
    void paragraph(String text) {
        Wrapping.hanging(text, terminal.tableColumns()).forEach(this::line);
    }

    /** Prints a name and what is to be said under it, broken to the width of the terminal; further lines stand below the first. */
    void field(String name, String text) {
        field(10, name, text);
    }

    /** As {@link #field(String, String)}, with the text behind names of another width. */
    void field(int width, String name, String text) {
        String front = name + " ".repeat(Math.max(0, width - name.length()) + 1);
        String blank = " ".repeat(front.length());
        for (String part : Wrapping.parts(text, terminal.tableColumns() - front.length())) {
            line(front + part);
            front = blank;
        }
    }

    /** Prints an empty line. */
    void line() {
        reports.print('\n');
    }

    /** Prints the table, as wide as the terminal. */
    void table(Table table) {
        table.lines(terminal).forEach(this::line);
    }

    /** Text in an ink, where the terminal has colours. */
    String ink(Ink ink, String text) {
        return ink.on(terminal, text);
    }

    /** Warns: on standard error unless the user wants quiet, and in the {@code warnings} of a JSON document. */
    synchronized void warn(String text) {
        warnings.add(text);
        if (!quiet) {
            messages.println(Wrapping.message("warning: " + text, terminal));
        }
    }

    /** Says something by the way, on standard error, unless the user wants quiet. */
    void note(String text) {
        if (!quiet) {
            messages.println(Wrapping.message(text, terminal));
        }
    }

    /** A meter for a job over {@code totalBytes} bytes; close it before the next line is printed. */
    ProgressMeter progress(String label, long totalBytes) {
        return new ProgressMeter(messages, progressStyle, terminal.columns(), label, totalBytes);
    }

    /** Prints a JSON document: the common fields with the warnings so far, then the command's own. */
    void json(String command, String status, JsonBody body) throws IOException {
        DefaultPrettyPrinter layout = new DefaultPrettyPrinter("\n");
        layout.indentObjectsWith(new DefaultIndenter("  ", "\n"));
        try (JsonGenerator json = new JsonFactory().createGenerator(reports, JsonEncoding.UTF8)) {
            json.disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
            json.setPrettyPrinter(layout);
            json.writeStartObject();
            json.writeStringField("tool", Version.TOOL);
            json.writeStringField("version", Version.current());
            json.writeStringField("command", command);
            json.writeStringField("status", status);
            json.writeArrayFieldStart("warnings");
            for (String warning : warnings) {
                json.writeString(warning);
            }
            json.writeEndArray();
            body.write(json);
            json.writeEndObject();
        }
        reports.print('\n');
    }
}
