package dev.shardsmith.verify.inspect;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.Parallelism;
import dev.shardsmith.verify.digest.StateTree;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** The fields of {@code inspect --json} after the common ones. */
public final class InspectionJson {
    private final JsonGenerator json;

    /** A writer into an object that is open. */
    public InspectionJson(JsonGenerator json) {
        this.json = json;
    }

    /** Writes what the checkpoint is as a whole. */
    public void summary(Inspection inspection) throws IOException {
        ModelView view = inspection.view();
        json.writeStringField("layout", view.layout().id());
        json.writeStringField("family", view.family().id());
        json.writeStringField("description", view.description());
        Parallelism sizes = view.parallelism();
        json.writeObjectFieldStart("parallel");
        json.writeNumberField("tp", sizes.tensor());
        json.writeNumberField("pp", sizes.pipeline());
        json.writeNumberField("vpp", sizes.virtual());
        json.writeNumberField("ep", sizes.expert());
        json.writeNumberField("etp", sizes.expertTensor());
        json.writeEndObject();
        if (view.pattern().isPresent()) {
            json.writeStringField("pattern", view.pattern().get());
        } else {
            json.writeNullField("pattern");
        }
        if (view.iterationFolder().isPresent()) {
            json.writeStringField("iteration", view.iterationFolder().get());
        }
        json.writeObjectFieldStart("totals");
        json.writeNumberField("tensors", inspection.tensors().size());
        json.writeNumberField("elements", inspection.elements());
        json.writeNumberField("bytes", inspection.bytes());
        json.writeNumberField("extraStates", view.extraStates().size());
        Map<String, Long> files = inspection.fileSizes();
        json.writeNumberField("files", files.size());
        json.writeNumberField(
                "fileBytes", files.values().stream().mapToLong(Long::longValue).sum());
        json.writeEndObject();
        json.writeObjectFieldStart("dtypes");
        for (Map.Entry<String, Long> type : inspection.bytesByType().entrySet()) {
            json.writeNumberField(type.getKey(), type.getValue());
        }
        json.writeEndObject();
        json.writeArrayFieldStart("unknown");
        for (String name : view.unknown()) {
            json.writeString(name);
        }
        json.writeEndArray();
    }

    /** Writes the tensors without figures. */
    public void tensors(List<LogicalTensor> tensors) throws IOException {
        json.writeArrayFieldStart("tensors");
        for (LogicalTensor tensor : tensors) {
            json.writeStartObject();
            tensor(tensor);
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void tensor(LogicalTensor tensor) throws IOException {
        json.writeStringField("name", tensor.name());
        json.writeStringField("dtype", tensor.dtype().shortName());
        json.writeFieldName("shape");
        shape(tensor.shape());
        json.writeNumberField("bytes", tensor.bytes());
        json.writeStringField("division", tensor.division());
    }

    private void shape(Shape shape) throws IOException {
        long[] sizes = shape.toArray();
        json.writeArray(sizes, 0, sizes.length);
    }

    /** Writes the tensors with figures, and the copies that disagree. */
    public void surveys(List<TensorSurvey> surveys) throws IOException {
        json.writeArrayFieldStart("tensors");
        for (TensorSurvey survey : surveys) {
            json.writeStartObject();
            tensor(survey.tensor());
            if (survey.figures().isPresent()) {
                figures(survey);
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("disagreements");
        for (TensorSurvey survey : surveys) {
            for (ReplicaDisagreement disagreement : survey.disagreements()) {
                json.writeStartObject();
                json.writeStringField("tensor", disagreement.tensor());
                json.writeStringField("part", disagreement.part().toString());
                json.writeStringField(
                        "file", disagreement.file().map(Object::toString).orElse(""));
                json.writeNumberField("different", disagreement.comparison().differing());
                number("maxAbs", disagreement.comparison().maxAbs());
                json.writeEndObject();
            }
        }
        json.writeEndArray();
    }

    private void figures(TensorSurvey survey) throws IOException {
        TensorSurvey.Figures figures = survey.figures().orElseThrow();
        json.writeObjectFieldStart("statistics");
        json.writeNumberField("values", figures.values());
        number("min", figures.min());
        number("max", figures.max());
        number("mean", figures.mean());
        number("std", figures.std());
        json.writeNumberField("zeros", figures.zeros());
        json.writeNumberField("nans", figures.nans());
        json.writeNumberField("infinities", figures.infinities());
        json.writeArrayFieldStart("histogram");
        for (var bar : survey.bars()) {
            json.writeNumber(Math.round(bar.count()));
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    /** Writes files with storage that nothing uses. */
    public void waste(List<StorageWaste> wastes) throws IOException {
        json.writeArrayFieldStart("waste");
        for (StorageWaste waste : wastes) {
            json.writeStartObject();
            json.writeStringField("file", waste.file().toString());
            json.writeNumberField("stored", waste.stored());
            json.writeNumberField("used", waste.used());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    /** Writes options and other state. */
    public void objects(List<StateTree.Leaf> leaves) throws IOException {
        json.writeArrayFieldStart("objects");
        for (StateTree.Leaf leaf : leaves) {
            json.writeStartObject();
            json.writeStringField("path", leaf.path());
            json.writeStringField("value", leaf.text());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void number(String name, double value) throws IOException {
        if (Double.isFinite(value)) {
            json.writeNumberField(name, value);
        } else {
            json.writeStringField(name, Double.toString(value));
        }
    }
}
