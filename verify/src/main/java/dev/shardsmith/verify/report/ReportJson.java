package dev.shardsmith.verify.report;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.List;

/** The data of a report as the page's script reads it. */
final class ReportJson {
    private final JsonGenerator json;

    ReportJson(JsonGenerator json) {
        this.json = json;
    }

    void write(ReportDocument document) throws IOException {
        json.writeStartObject();
        json.writeStringField("command", document.command());
        json.writeStringField("verdict", document.verdict());
        json.writeStringField("tone", document.tone().id());
        facts("subjects", document.subjects());
        facts("facts", document.facts());
        json.writeArrayFieldStart("findings");
        for (ReportDocument.Finding finding : document.findings()) {
            finding(finding);
        }
        json.writeEndArray();
        if (document.layers().isPresent()) {
            layers(document.layers().get());
        }
        json.writeArrayFieldStart("ranks");
        for (ReportDocument.RankBytes rank : document.ranks()) {
            json.writeStartArray();
            json.writeString(rank.label());
            json.writeNumber(rank.bytes());
            json.writeString(rank.note());
            json.writeEndArray();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("columns");
        for (ReportDocument.Column column : document.columns()) {
            json.writeStartObject();
            json.writeStringField("label", column.label());
            json.writeStringField("unit", column.unit().id());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("rows");
        for (ReportDocument.TensorRow row : document.tensors()) {
            row(row);
        }
        json.writeEndArray();
        state(document.state());
        json.writeStringField("footer", document.footer());
        json.writeEndObject();
    }

    private void facts(String name, List<ReportDocument.Fact> facts) throws IOException {
        json.writeArrayFieldStart(name);
        facts(facts);
        json.writeEndArray();
    }

    private void facts(List<ReportDocument.Fact> facts) throws IOException {
        for (ReportDocument.Fact fact : facts) {
            json.writeStartArray();
            json.writeString(fact.label());
            json.writeString(fact.value());
            json.writeEndArray();
        }
    }

    private void finding(ReportDocument.Finding finding) throws IOException {
        json.writeStartObject();
        json.writeStringField("severity", finding.severity().id());
        json.writeStringField("code", finding.code());
        json.writeStringField("where", finding.where());
        json.writeStringField("message", finding.message());
        json.writeStringField("fix", finding.fix());
        json.writeEndObject();
    }

    private void layers(ReportDocument.LayerMap map) throws IOException {
        json.writeObjectFieldStart("layers");
        json.writeStringField("metric", map.metric());
        json.writeStringField("scale", map.scale().id());
        facts("kinds", map.kinds());
        json.writeArrayFieldStart("cells");
        for (ReportDocument.LayerCell cell : map.cells()) {
            json.writeStartObject();
            json.writeNumberField("layer", cell.layer());
            json.writeStringField("label", cell.label());
            json.writeStringField("symbol", cell.symbol());
            json.writeFieldName("value");
            number(cell.value());
            json.writeStringField("note", cell.note());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void row(ReportDocument.TensorRow row) throws IOException {
        json.writeStartArray();
        json.writeString(row.name());
        json.writeNumber(row.layer());
        json.writeString(row.dtype());
        json.writeString(row.shape());
        json.writeNumber(row.bytes());
        json.writeString(row.status());
        json.writeStartArray();
        for (double value : row.values()) {
            number(value);
        }
        json.writeEndArray();
        if (row.histogram().isPresent()) {
            histogram(row.histogram().get());
        } else {
            json.writeNull();
        }
        json.writeStartArray();
        facts(row.details().facts());
        json.writeEndArray();
        json.writeEndArray();
    }

    private void histogram(ReportDocument.Histogram histogram) throws IOException {
        json.writeStartArray();
        number(histogram.min());
        number(histogram.max());
        json.writeStartArray();
        for (long count : histogram.counts()) {
            json.writeNumber(count);
        }
        json.writeEndArray();
        json.writeEndArray();
    }

    private void state(ReportDocument.StateTable table) throws IOException {
        json.writeStringField("stateTitle", table.title());
        json.writeStringField("stateHint", table.hint());
        json.writeArrayFieldStart("stateColumns");
        for (String column : table.columns()) {
            json.writeString(column);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("state");
        for (List<String> row : table.rows()) {
            json.writeStartArray();
            for (String cell : row) {
                json.writeString(cell);
            }
            json.writeEndArray();
        }
        json.writeEndArray();
    }

    /** JSON has no NaN and no infinities: null where nothing is known, a word for infinities. */
    private void number(double value) throws IOException {
        if (Double.isNaN(value)) {
            json.writeNull();
        } else if (Double.isInfinite(value)) {
            json.writeString(value > 0 ? "infinite" : "-infinite");
        } else if (value == Math.rint(value) && Math.abs(value) < 1e15) {
            json.writeNumber((long) value);
        } else {
            json.writeNumber(value);
        }
    }
}
