package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Shares;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpaqueItem;
import dev.shardsmith.reshard.view.RankShard;
import dev.shardsmith.verify.digest.ValueHistogram;
import dev.shardsmith.verify.inspect.Holders;
import dev.shardsmith.verify.inspect.ReplicaDisagreement;
import dev.shardsmith.verify.inspect.TensorSurvey;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What is in a checkpoint, as the fields of a JSON document. */
record InspectJson(
        ModelView view,
        CheckpointSummary summary,
        List<LogicalTensor> tensors,
        Optional<List<TensorSurvey>> surveys,
        Optional<List<ObjectTree.Entry>> objects,
        Optional<Holders> holders)
        implements JsonBody {
    @Override
    public void write(JsonGenerator json) throws IOException {
        json.writeStringField("path", view.path().toString());
        json.writeStringField("layout", view.layout().id());
        json.writeStringField("description", view.description());
        json.writeStringField("family", view.family().id());
        JsonParts.parallelism(json, view.parallelism());
        if (view.pattern().isPresent()) {
            json.writeStringField("pattern", view.pattern().get());
        } else {
            json.writeNullField("pattern");
        }
        json.writeArrayFieldStart("tensors");
        for (int i = 0; i < tensors.size(); i++) {
            tensor(json, tensors.get(i), i);
        }
        json.writeEndArray();
        if (surveys.isPresent()) {
            disagreements(json, surveys.get());
        }
        names(json, "unknown", view.unknown());
        names(json, "items", view.items().stream().map(OpaqueItem::name).toList());
        json.writeNumberField("extraStates", view.extraStates().size());
        if (objects.isPresent()) {
            objects(json, objects.get());
        }
        totals(json);
    }

    private void tensor(JsonGenerator json, LogicalTensor tensor, int index) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", tensor.name());
        json.writeStringField("dtype", tensor.dtype().shortName());
        JsonParts.shape(json, "shape", tensor.shape());
        json.writeNumberField("bytes", tensor.bytes());
        json.writeStringField("division", tensor.division());
        if (holders.isPresent()) {
            held(json, holders.get(), holders.get().of(tensor));
        }
        if (surveys.isPresent() && surveys.get().get(index).figures().isPresent()) {
            statistics(json, surveys.get().get(index));
        }
        json.writeEndObject();
    }

    /** Who holds which rows: the divided axis, and for each file its ranges on it, or its boxes where several are divided. */
    private static void held(JsonGenerator json, Holders holders, Shares shares) throws IOException {
        json.writeObjectFieldStart("held");
        if (shares.axis().isPresent()) {
            json.writeNumberField("axis", shares.axis().getAsInt());
        } else {
            json.writeNullField("axis");
        }
        json.writeArrayFieldStart("by");
        for (String file : shares.boxes().keySet()) {
            json.writeStartObject();
            json.writeStringField("file", file);
            Optional<RankShard> rank = holders.rank(file);
            if (rank.isPresent()) {
                json.writeNumberField("tp", rank.get().tensor());
                json.writeNumberField("pp", rank.get().pipeline());
                json.writeNumberField("ep", rank.get().expert());
            }
            if (shares.axis().isPresent()) {
                JsonParts.ranges(json, shares.ranges(file));
            } else if (!shares.whole()) {
                json.writeArrayFieldStart("boxes");
                for (Box box : shares.boxes().get(file)) {
                    json.writeStartObject();
                    JsonParts.array(json, "offset", box.offset());
                    JsonParts.array(json, "size", box.size());
                    json.writeEndObject();
                }
                json.writeEndArray();
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void statistics(JsonGenerator json, TensorSurvey survey) throws IOException {
        TensorSurvey.Figures values = survey.figures().orElseThrow();
        json.writeObjectFieldStart("statistics");
        if (values.finite() > 0) {
            JsonParts.real(json, "min", values.min());
            JsonParts.real(json, "max", values.max());
            JsonParts.real(json, "mean", values.mean());
            JsonParts.real(json, "std", values.std());
        }
        json.writeNumberField("values", values.values());
        json.writeNumberField("zeros", values.zeros());
        json.writeNumberField("nans", values.nans());
        json.writeNumberField("infinities", values.infinities());
        JsonParts.array(
                json,
                "histogram",
                survey.bars().map(ValueHistogram.Bars::counts).orElse(new long[0]));
        json.writeEndObject();
    }

    private static void disagreements(JsonGenerator json, List<TensorSurvey> surveys) throws IOException {
        json.writeArrayFieldStart("disagreements");
        for (TensorSurvey survey : surveys) {
            for (ReplicaDisagreement replica : survey.disagreements()) {
                json.writeStartObject();
                json.writeStringField("tensor", replica.tensor());
                json.writeStringField("part", replica.part().toString());
                json.writeStringField(
                        "file", replica.file().map(Object::toString).orElse(""));
                json.writeNumberField("different", replica.comparison().differing());
                JsonParts.real(json, "maxAbs", replica.comparison().maxAbs());
                json.writeEndObject();
            }
        }
        json.writeEndArray();
    }

    private static void objects(JsonGenerator json, List<ObjectTree.Entry> entries) throws IOException {
        json.writeArrayFieldStart("objects");
        for (ObjectTree.Entry entry : entries) {
            json.writeStartObject();
            json.writeStringField("path", entry.path());
            json.writeStringField("value", entry.text());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void totals(JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("totals");
        json.writeNumberField("tensors", summary.tensors());
        json.writeNumberField("elements", summary.elements());
        json.writeNumberField("bytes", summary.bytes());
        json.writeObjectFieldStart("bytesByType");
        for (Map.Entry<DType, Long> type : summary.bytesByType().entrySet()) {
            json.writeNumberField(type.getKey().shortName(), type.getValue());
        }
        json.writeEndObject();
        json.writeNumberField("files", summary.files());
        json.writeNumberField("fileBytes", summary.fileBytes());
        json.writeNumberField("wastedBytes", summary.wastedBytes());
        json.writeEndObject();
    }

    private static void names(JsonGenerator json, String field, List<String> names) throws IOException {
        json.writeArrayFieldStart(field);
        for (String name : names) {
            json.writeString(name);
        }
        json.writeEndArray();
    }
}
