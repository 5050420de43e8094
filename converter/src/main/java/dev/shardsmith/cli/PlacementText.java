package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.reshard.placement.PlacementReport;
import dev.shardsmith.reshard.placement.RankPlacement;
import java.io.IOException;
import java.util.List;

/** Where a model's parameters go in a training job, as text and as JSON. */
record PlacementText(PlacementReport report) {
    private static final int MOST_RANKS = 64;

    void print(Out out) {
        out.line();
        report.arithmetic().forEach(out::line);
        Table table = new Table()
                .column("tp", Table.Align.RIGHT)
                .column("pp", Table.Align.RIGHT)
                .column("ep", Table.Align.RIGHT)
                .column("layers", Table.Align.RIGHT)
                .column("parameters", Table.Align.RIGHT)
                .column("weights", Table.Align.RIGHT)
                .column("all", Table.Align.RIGHT)
                .column("distributed", Table.Align.RIGHT);
        List<RankPlacement> ranks = report.ranks();
        for (RankPlacement rank : ranks.subList(0, Math.min(MOST_RANKS, ranks.size()))) {
            table.row(
                    String.valueOf(rank.tensor()),
                    String.valueOf(rank.pipeline()),
                    String.valueOf(rank.expert()),
                    String.valueOf(rank.layers()),
                    String.valueOf(rank.parameters()),
                    ByteSize.format(rank.bytes().weights()),
                    ByteSize.format(rank.total()),
                    ByteSize.format(rank.totalDistributed()));
        }
        out.line();
        out.table(table);
        if (ranks.size() > MOST_RANKS) {
            out.line("and %d more; --json lists all".formatted(ranks.size() - MOST_RANKS));
        }
        report.problems().forEach(problem -> out.line(out.ink(Ink.RED, "problem: ") + problem));
    }

    void write(JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("placement");
        json.writeNumberField("parameters", report.parameters());
        json.writeBooleanField("fits", report.fits());
        json.writeBooleanField("dataParallelSuffices", report.dataParallelSuffices());
        json.writeNumberField("dataParallelAlone", report.dataParallelAlone());
        json.writeNumberField("unevenness", report.unevenness());
        json.writeArrayFieldStart("ranks");
        for (RankPlacement rank : report.ranks()) {
            json.writeStartObject();
            json.writeNumberField("tp", rank.tensor());
            json.writeNumberField("pp", rank.pipeline());
            json.writeNumberField("ep", rank.expert());
            json.writeNumberField("layers", rank.layers());
            json.writeNumberField("parameters", rank.parameters());
            json.writeNumberField("weights", rank.bytes().weights());
            json.writeNumberField("gradients", rank.bytes().gradients());
            json.writeNumberField("master", rank.bytes().master());
            json.writeNumberField("moments", rank.bytes().moments());
            json.writeNumberField("total", rank.total());
            json.writeNumberField("totalDistributed", rank.totalDistributed());
            json.writeEndObject();
        }
        json.writeEndArray();
        strings(json, "problems", report.problems());
        strings(json, "arithmetic", report.arithmetic());
        json.writeEndObject();
    }

    private static void strings(JsonGenerator json, String field, List<String> values) throws IOException {
        json.writeArrayFieldStart(field);
        for (String value : values) {
            json.writeString(value);
        }
        json.writeEndArray();
    }
}
