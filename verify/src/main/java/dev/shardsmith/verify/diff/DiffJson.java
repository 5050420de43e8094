package dev.shardsmith.verify.diff;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.io.IOException;
import java.util.Optional;

/** The fields of {@code diff --json} after the common ones. */
public final class DiffJson {
    private final JsonGenerator json;

    private DiffJson(JsonGenerator json) {
        this.json = json;
    }

    /** Writes the fields into an object that is open. */
    public static void write(JsonGenerator json, DiffResult result) throws IOException {
        new DiffJson(json).write(result);
    }

    private void write(DiffResult result) throws IOException {
        json.writeBooleanField("same", result.same());
        json.writeObjectFieldStart("counts");
        for (TensorDiff.Status status : TensorDiff.Status.values()) {
            json.writeNumberField(status.id(), result.count(status));
        }
        json.writeNumberField(
                "retyped", result.tensors().stream().filter(TensorDiff::retyped).count());
        json.writeNumberField(
                "reshaped", result.tensors().stream().filter(TensorDiff::reshaped).count());
        json.writeEndObject();
        json.writeNumberField("bytes", result.bytes());
        json.writeArrayFieldStart("tensors");
        for (TensorDiff diff : result.tensors()) {
            tensor(diff);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("state");
        for (StateDifference difference : result.state()) {
            json.writeStartObject();
            json.writeStringField("path", difference.path());
            json.writeStringField("left", difference.left());
            json.writeStringField("right", difference.right());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("ignored");
        for (String ignored : result.ignored()) {
            json.writeString(ignored);
        }
        json.writeEndArray();
    }

    private void tensor(TensorDiff diff) throws IOException {
        TensorComparison comparison = diff.comparison().orElseGet(TensorComparison::new);
        json.writeStartObject();
        json.writeStringField("name", diff.name());
        json.writeStringField("status", diff.status().id());
        if (diff.newName().isPresent()) {
            json.writeStringField("newName", diff.newName().get());
        }
        if (!diff.note().isEmpty()) {
            json.writeStringField("note", diff.note());
        }
        side("left", diff.left());
        side("right", diff.right());
        json.writeNumberField("different", comparison.differing());
        json.writeNumberField("beyondTolerance", comparison.beyond());
        number("maxAbs", comparison.maxAbs());
        number("maxRel", comparison.maxRel());
        json.writeNumberField("maxUlp", comparison.maxUlp());
        if (diff.comparison().isPresent()) {
            number("rms", comparison.rms());
            number("cosine", comparison.cosine());
            json.writeNumberField("nanMismatches", comparison.nanMismatches());
            json.writeNumberField("infinityMismatches", comparison.infinityMismatches());
            ulps(comparison.ulpHistogram());
        }
        json.writeArrayFieldStart("worst");
        for (WorstElement worst : comparison.worst()) {
            worst(diff, worst);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void side(String name, Optional<LogicalTensor> tensor) throws IOException {
        if (tensor.isPresent()) {
            json.writeObjectFieldStart(name);
            json.writeStringField("dtype", tensor.get().dtype().shortName());
            json.writeFieldName("shape");
            long[] sizes = tensor.get().shape().toArray();
            json.writeArray(sizes, 0, sizes.length);
            json.writeEndObject();
        }
    }

    /** Entry 0 counts pairs that are 0 units apart, entry k those from 2^(k-1) on; zeros at the end are left out. */
    private void ulps(long[] histogram) throws IOException {
        int end = histogram.length;
        while (end > 0 && histogram[end - 1] == 0) {
            end--;
        }
        json.writeFieldName("ulps");
        json.writeArray(histogram, 0, end);
    }

    private void worst(TensorDiff diff, WorstElement worst) throws IOException {
        json.writeStartObject();
        long element = worst.index() / ValuesPerElement.of(diff.either().dtype());
        long[] index = ElementPlace.index(diff.either(), element);
        json.writeFieldName("index");
        json.writeArray(index, 0, index.length);
        number("left", worst.left());
        number("right", worst.right());
        number("difference", worst.difference());
        place("left", diff.left(), element);
        place("right", diff.right(), element);
        json.writeEndObject();
    }

    private void place(String side, Optional<LogicalTensor> tensor, long element) throws IOException {
        Optional<ElementPlace> place =
                tensor.isPresent() ? ElementPlace.of(tensor.get(), element) : Optional.empty();
        if (place.isPresent()) {
            json.writeStringField(side + "File", place.get().file().toString());
            json.writeNumberField(side + "Offset", place.get().offset());
        }
    }

    /** JSON has no NaN and no infinities; these are written as strings. */
    private void number(String name, double value) throws IOException {
        if (Double.isFinite(value)) {
            json.writeNumberField(name, value);
        } else {
            json.writeStringField(name, Double.toString(value));
        }
    }
}
