package dev.shardsmith.formats.layout;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What Megatron's {@code metadata.json} says.
 *
 * @param backend form of the sharded data: {@code torch_dist}, or {@code zarr} in old checkpoints
 * @param version its version
 * @param commonBackend form of the common state; empty since it lies among the sharded data
 */
public record TorchDistMetadata(String backend, OptionalInt version, Optional<String> commonBackend) {
    /** The file's name. */
    public static final String FILE = "metadata.json";

    private static final JsonFactory JSON = new JsonFactory();

    /** What the file says; empty if it is no JSON object that names a backend. */
    static Optional<TorchDistMetadata> parse(byte[] text) throws IOException {
        Optional<String> backend = Optional.empty();
        OptionalInt version = OptionalInt.empty();
        Optional<String> common = Optional.empty();
        try (JsonParser json = JSON.createParser(text)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return Optional.empty();
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                JsonToken value = json.nextToken();
                if (field.equals("sharded_backend") && value == JsonToken.VALUE_STRING) {
                    backend = Optional.of(json.getText());
                } else if (field.equals("common_backend") && value == JsonToken.VALUE_STRING) {
                    common = Optional.of(json.getText());
                } else if (field.equals("sharded_backend_version") && value == JsonToken.VALUE_NUMBER_INT) {
                    version = OptionalInt.of(json.getIntValue());
                } else {
                    json.skipChildren();
                }
            }
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
        OptionalInt given = version;
        Optional<String> state = common;
        return backend.map(name -> new TorchDistMetadata(name, given, state));
    }

    void requireSupported(String where) throws CheckpointException {
        if (!backend.equals("torch_dist")) {
            throw CheckpointException.of(
                            CheckpointException.Kind.UNSUPPORTED,
                            where,
                            "the checkpoint's form is " + backend
                                    + "; of Megatron's distributed forms only torch_dist is" + " supported")
                    .withHint("load and save it once with a Megatron release that reads " + backend
                            + (backend.equals("zarr")
                                    ? ": core up to 0.15 does, with --ckpt-format torch_dist for the new one"
                                    : ""));
        }
    }
}
