package dev.shardsmith.verify.digest;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.List;

/** The fields of {@code manifest --json} after the common ones. */
public final class ManifestJson {
    private ManifestJson() {}

    /** Writes tensors and files of a manifest into an object that is open. */
    public static void write(JsonGenerator json, CheckpointManifest manifest) throws IOException {
        json.writeArrayFieldStart("tensors");
        for (TensorEntry entry : manifest.tensors()) {
            json.writeStartObject();
            json.writeStringField("name", entry.name());
            json.writeFieldName("shape");
            long[] sizes = entry.shape().toArray();
            json.writeArray(sizes, 0, sizes.length);
            json.writeStringField("dtype", entry.dtype());
            json.writeStringField("sha256", entry.sha256());
            if (entry.summary().isPresent()) {
                write(json, entry.summary().get());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("files");
        for (FileEntry file : manifest.files()) {
            json.writeStartObject();
            json.writeStringField("path", file.path());
            json.writeNumberField("size", file.size());
            json.writeNumberField("blockSize", file.blockSize());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void write(JsonGenerator json, TensorEntry.Summary summary) throws IOException {
        json.writeObjectFieldStart("statistics");
        number(json, "min", summary.min());
        number(json, "max", summary.max());
        number(json, "mean", summary.mean());
        number(json, "std", summary.std());
        json.writeNumberField("zeros", summary.zeros());
        json.writeNumberField("nans", summary.nans());
        json.writeNumberField("infinities", summary.infinities());
        json.writeEndObject();
    }

    private static void number(JsonGenerator json, String name, double value) throws IOException {
        if (Double.isFinite(value)) {
            json.writeNumberField(name, value);
        } else {
            json.writeStringField(name, Double.toString(value));
        }
    }

    /** Writes the outcome of a check into an object that is open. */
    public static void write(JsonGenerator json, List<ManifestFinding> findings) throws IOException {
        json.writeBooleanField("intact", findings.isEmpty());
        json.writeArrayFieldStart("findings");
        for (ManifestFinding finding : findings) {
            json.writeStartObject();
            json.writeStringField("code", finding.code().id());
            json.writeStringField("tensor", finding.tensor());
            json.writeStringField("file", finding.file());
            if (finding.length() > 0) {
                json.writeNumberField("offset", finding.offset());
                json.writeNumberField("length", finding.length());
            }
            json.writeStringField("message", finding.message());
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
