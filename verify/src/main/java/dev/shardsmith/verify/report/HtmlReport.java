package dev.shardsmith.verify.report;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.formats.WholeFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;

/** Writes a report as one HTML file. */
public final class HtmlReport {
    private static final String TITLE = "@TITLE@";
    private static final String STYLE = "@STYLE@";
    private static final String DATA = "@DATA@";
    private static final String SCRIPT = "@SCRIPT@";

    private HtmlReport() {}

    /** Writes the document to a file. */
    public static void write(ReportDocument document, WholeFile file) throws IOException {
        file.write(out -> {
            Writer writer = new OutputStreamWriter(out, StandardCharsets.UTF_8);
            write(document, writer);
            writer.flush();
        });
    }

    static void write(ReportDocument document, Writer writer) throws IOException {
        String page = resource("report.html")
                .replace(TITLE, escape("shardsmith " + document.command() + ": " + document.verdict()))
                .replace(STYLE, resource("report.css"));
        int data = page.indexOf(DATA);
        int script = page.indexOf(SCRIPT);
        writer.write(page, 0, data);
        try (JsonGenerator json = new JsonFactory().createGenerator(new ScriptSafeWriter(writer))) {
            json.disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
            new ReportJson(json).write(document);
        }
        writer.write(page, data + DATA.length(), script - data - DATA.length());
        writer.write(resource("report.js"));
        writer.write(page, script + SCRIPT.length(), page.length() - script - SCRIPT.length());
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    private static String resource(String name) throws IOException {
        try (InputStream stream = HtmlReport.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IllegalStateException("the resource " + name + " is missing");
            }
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
