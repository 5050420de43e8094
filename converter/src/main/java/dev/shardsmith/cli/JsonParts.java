package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.view.Parallelism;
import java.io.IOException;
import java.util.List;

/** Parts that several commands' JSON documents have in common. */
final class JsonParts {
    private JsonParts() {}

    /** An array field with the sizes of a shape. */
    static void shape(JsonGenerator json, String field, Shape shape) throws IOException {
        array(json, field, shape.toArray());
    }

    /** An array field of numbers, on one line. */
    static void array(JsonGenerator json, String field, long[] numbers) throws IOException {
        json.writeFieldName(field);
        json.writeArray(numbers, 0, numbers.length);
    }

    /** A field {@code ranges}: pairs of first index and index after the last. */
    static void ranges(JsonGenerator json, List<long[]> ranges) throws IOException {
        json.writeArrayFieldStart("ranges");
        for (long[] range : ranges) {
            json.writeArray(range, 0, range.length);
        }
        json.writeEndArray();
    }

    /** A field with the sizes of all groups. */
    static void parallelism(JsonGenerator json, Parallelism sizes) throws IOException {
        json.writeObjectFieldStart("parallel");
        json.writeNumberField("tp", sizes.tensor());
        json.writeNumberField("pp", sizes.pipeline());
        json.writeNumberField("vpp", sizes.virtual());
        json.writeNumberField("ep", sizes.expert());
        json.writeNumberField("etp", sizes.expertTensor());
        json.writeEndObject();
    }

    /** A number, or a string for what JSON has no number for: {@code "NaN"}, {@code "Infinity"}. */
    static void real(JsonGenerator json, String field, double value) throws IOException {
        if (Double.isFinite(value)) {
            json.writeNumberField(field, value);
        } else {
            json.writeStringField(field, Double.toString(value));
        }
    }
}
