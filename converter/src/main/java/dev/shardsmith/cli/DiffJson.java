package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.diff.DiffResult;
import dev.shardsmith.verify.diff.ElementPlace;
import dev.shardsmith.verify.diff.StateDifference;
import dev.shardsmith.verify.diff.TensorComparison;
import dev.shardsmith.verify.diff.TensorDiff;
import dev.shardsmith.verify.diff.ValuesPerElement;
import dev.shardsmith.verify.diff.WorstElement;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The JSON document of a comparison. */
final class DiffJson {
    private static final List<String> FIGURES = List.of(
            "values",
            "different",
            "beyondTolerance",
            "nanMismatches",
            "infinityMismatches",
            "maxAbs",
            "maxRel",
            "maxUlp",
            "rms",
            "cosine");

    private DiffJson() {}

    static void write(JsonGenerator json, DiffResult result) throws IOException {
        json.writeBooleanField("same", result.same());
        json.writeObjectFieldStart("counts");
        for (TensorDiff.Status status : TensorDiff.Status.values()) {
            json.writeNumberField(status.id(), result.count(status));
        }
        json.writeNumberField(
                "retyped", result.tensors().stream().filter(TensorDiff::retyped).count());
        json.writeNumberField(
                "reshaped",
                result.tensors().stream().filter(TensorDiff::reshaped).count());
        json.writeEndObject();
        json.writeNumberField("bytes", result.bytes());
        json.writeArrayFieldStart("tensors");
        for (TensorDiff diff : result.tensors()) {
            tensor(json, diff);
        }
        json.writeEndArray();
        places(json, "forms", result.forms());
        places(json, "state", result.state());
        json.writeArrayFieldStart("notes");
        for (String note : result.notes()) {
            json.writeString(note);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("ignored");
        for (String ignored : result.ignored()) {
            json.writeString(ignored);
        }
        json.writeEndArray();
    }

    private static void places(JsonGenerator json, String field, List<StateDifference> places) throws IOException {
        json.writeArrayFieldStart(field);
        for (StateDifference difference : places) {
            json.writeStartObject();
            json.writeStringField("path", difference.path());
            json.writeStringField("left", difference.left());
            json.writeStringField("right", difference.right());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void tensor(JsonGenerator json, TensorDiff diff) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", diff.name());
        json.writeStringField("status", diff.status().id());
        if (diff.newName().isPresent()) {
            json.writeStringField("newName", diff.newName().get());
        }
        if (!diff.note().isEmpty()) {
            json.writeStringField("note", diff.note());
        }
        side(json, "left", diff.left());
        side(json, "right", diff.right());
        if (diff.comparison().isPresent()) {
            figures(json, diff, diff.comparison().get());
        } else if (diff.status() == TensorDiff.Status.SAME || diff.status() == TensorDiff.Status.RENAMED) {
            // All bits are the same, so no values were compared: the figures are those of no difference.
            figures(json, diff, new TensorComparison());
        } else {
            noFigures(json);
        }
        json.writeEndObject();
    }

    private static void side(JsonGenerator json, String field, Optional<LogicalTensor> tensor) throws IOException {
        if (tensor.isPresent()) {
            json.writeObjectFieldStart(field);
            json.writeStringField("dtype", tensor.get().dtype().shortName());
            JsonParts.shape(json, "shape", tensor.get().shape());
            json.writeEndObject();
        }
    }

    /** Of tensors that cannot be compared value by value: a figure would say that they had been. */
    private static void noFigures(JsonGenerator json) throws IOException {
        for (String figure : FIGURES) {
            json.writeNullField(figure);
        }
        JsonParts.array(json, "ulpHistogram", new long[0]);
        json.writeArrayFieldStart("worst");
        json.writeEndArray();
    }

    private static void figures(JsonGenerator json, TensorDiff diff, TensorComparison figures) throws IOException {
        json.writeNumberField("values", figures.values());
        json.writeNumberField("different", figures.differing());
        json.writeNumberField("beyondTolerance", figures.beyond());
        json.writeNumberField("nanMismatches", figures.nanMismatches());
        json.writeNumberField("infinityMismatches", figures.infinityMismatches());
        JsonParts.real(json, "maxAbs", figures.maxAbs());
        JsonParts.real(json, "maxRel", figures.maxRel());
        json.writeNumberField("maxUlp", figures.maxUlp());
        JsonParts.real(json, "rms", figures.rms());
        JsonParts.real(json, "cosine", figures.cosine());
        JsonParts.array(json, "ulpHistogram", figures.ulpHistogram());
        json.writeArrayFieldStart("worst");
        for (WorstElement worst : figures.worst()) {
            long element = worst.index() / ValuesPerElement.of(diff.either().dtype());
            json.writeStartObject();
            JsonParts.array(json, "index", diff.either().shape().index(element));
            JsonParts.real(json, "left", worst.left());
            JsonParts.real(json, "right", worst.right());
            JsonParts.real(json, "difference", worst.difference());
            place(json, "leftPlace", diff.left(), element);
            place(json, "rightPlace", diff.right(), element);
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void place(JsonGenerator json, String field, Optional<LogicalTensor> tensor, long index)
            throws IOException {
        Optional<ElementPlace> place = tensor.isPresent() ? ElementPlace.of(tensor.get(), index) : Optional.empty();
        if (place.isPresent()) {
            json.writeObjectFieldStart(field);
            json.writeStringField("file", place.get().file().toString());
            json.writeNumberField("offset", place.get().offset());
            json.writeEndObject();
        }
    }
}
