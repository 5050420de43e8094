package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Ledger;
import dev.shardsmith.reshard.plan.Plan;
import java.io.IOException;
import java.util.List;

/** A plan as text and as JSON: what would be written, and the proof that nothing is lost. */
final class PlanReport {
    private static final int MOST_DROPPED = 20;

    private final Plan plan;

    PlanReport(Plan plan) {
        this.plan = plan;
    }

    void print(Out out) {
        Ledger ledger = plan.ledger();
        line(out, "files", "%d, %s".formatted(plan.files().size(), ByteSize.format(plan.bytes())));
        line(
                out,
                "elements",
                "%,d copied, %,d cast, %,d filled"
                        .formatted(ledger.copiedElements(), ledger.castElements(), ledger.filledElements()));
        line(
                out,
                "ledger",
                "%,d in the source: %,d used, %,d dropped; %,d in the target: %,d have a source"
                        .formatted(
                                ledger.sourceElements(),
                                ledger.usedElements(),
                                ledger.droppedElements(),
                                ledger.targetElements(),
                                ledger.sourcedElements()));
        List<Dropped> dropped = plan.dropped();
        for (Dropped what : dropped.subList(0, Math.min(MOST_DROPPED, dropped.size()))) {
            line(out, "dropped", "%s (%s): %s".formatted(what.what(), ByteSize.format(what.bytes()), what.reason()));
        }
        if (dropped.size() > MOST_DROPPED) {
            line(out, "dropped", "and %d more; --json lists all".formatted(dropped.size() - MOST_DROPPED));
        }
        plan.notes().forEach(note -> line(out, "note", note));
    }

    /** Prints who would get what, where that is not equally much. */
    void printUneven(Out out) {
        UnevenShares.of(plan).print(out);
    }

    void write(JsonGenerator json) throws IOException {
        Ledger ledger = plan.ledger();
        json.writeObjectFieldStart("plan");
        json.writeNumberField("files", plan.files().size());
        json.writeNumberField("bytes", plan.bytes());
        json.writeNumberField("copied", ledger.copiedElements());
        json.writeNumberField("cast", ledger.castElements());
        json.writeNumberField("filled", ledger.filledElements());
        json.writeArrayFieldStart("dropped");
        for (Dropped what : plan.dropped()) {
            json.writeStartObject();
            json.writeStringField("what", what.what());
            json.writeNumberField("elements", what.elements());
            json.writeNumberField("bytes", what.bytes());
            json.writeStringField("reason", what.reason());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("notes");
        for (String note : plan.notes()) {
            json.writeString(note);
        }
        json.writeEndArray();
        UnevenShares.of(plan).write(json);
        json.writeEndObject();
        json.writeObjectFieldStart("ledger");
        json.writeNumberField("sourceElements", ledger.sourceElements());
        json.writeNumberField("usedElements", ledger.usedElements());
        json.writeNumberField("droppedElements", ledger.droppedElements());
        json.writeNumberField("targetElements", ledger.targetElements());
        json.writeNumberField("sourcedElements", ledger.sourcedElements());
        json.writeEndObject();
    }

    private static void line(Out out, String name, String text) {
        out.field(name, text);
    }
}
