package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.verify.forward.Timeline;
import java.io.IOException;
import java.util.Locale;

/** How the time of a forward check was spent, as text and as JSON. */
record TimelineReport(Timeline timeline) {

    void print(Out out) {
        double seconds = timeline.seconds();
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "time %.2f s, %.2f GB read", seconds, timeline.bytes() / 1e9));
        for (Timeline.Activity activity : Timeline.Activity.values()) {
            text.append(String.format(
                    Locale.ROOT,
                    "; %s in %.0f %%",
                    activity.name().toLowerCase(Locale.ROOT),
                    100 * timeline.busy(activity) / seconds));
        }
        out.line(text.toString());
    }

    void write(JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("timeline");
        json.writeNumberField("seconds", timeline.seconds());
        json.writeNumberField("bytes", timeline.bytes());
        for (Timeline.Activity activity : Timeline.Activity.values()) {
            json.writeNumberField(activity.name().toLowerCase(Locale.ROOT), timeline.busy(activity));
        }
        json.writeArrayFieldStart("spans");
        for (Timeline.Span span : timeline.spans()) {
            json.writeStartObject();
            json.writeStringField("activity", span.activity().name().toLowerCase(Locale.ROOT));
            json.writeStringField("side", span.side() == 0 ? "A" : "B");
            json.writeStringField("layer", span.label());
            json.writeNumberField("from", span.from());
            json.writeNumberField("to", span.to());
            json.writeNumberField("bytes", span.bytes());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
