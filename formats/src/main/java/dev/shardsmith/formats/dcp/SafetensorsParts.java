package dev.shardsmith.formats.dcp;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpMetadataBuilder.Place;
import dev.shardsmith.formats.safetensors.SafetensorsEntry;
import dev.shardsmith.formats.safetensors.SafetensorsFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A distributed checkpoint in the Hugging Face form: safetensors files without {@code .metadata}.
 *
 * <p>Where a file's tensor lies in the whole is told by the {@code DCP_SHARDING_INFO} of that file:
 * {@code {"name": {"saved_offsets": [..]}}}. The shape of the whole is told nowhere; it is as far as the parts reach.
 */
final class SafetensorsParts {
    private static final String SHARDING_INFO = "DCP_SHARDING_INFO";
    private static final JsonFactory JSON = new JsonFactory();

    private record Part(String file, SafetensorsEntry entry, long[] offsets) {}

    private final Map<String, List<Part>> parts = new LinkedHashMap<>();

    private SafetensorsParts() {}

    /** Reads the headers of the files; empty if none of them has sharding information. */
    static Optional<DcpMetadata> read(FilePool pool, Path folder, List<String> files) throws IOException {
        SafetensorsParts parts = new SafetensorsParts();
        boolean sharded = false;
        for (String name : files) {
            SafetensorsFile file = SafetensorsFile.open(pool.file(folder.resolve(name)));
            sharded |= file.metadata().containsKey(SHARDING_INFO);
            parts.add(name, file);
        }
        return sharded ? Optional.of(parts.join(folder.toString())) : Optional.empty();
    }

    private void add(String name, SafetensorsFile file) throws IOException {
        Map<String, long[]> offsets = savedOffsets(file);
        for (SafetensorsEntry entry : file.entries()) {
            long[] at =
                    offsets.getOrDefault(entry.name(), new long[entry.shape().rank()]);
            if (at.length != entry.shape().rank()) {
                throw CheckpointException.of(
                        CheckpointException.Kind.MALFORMED,
                        file.source().name() + ", tensor " + entry.name(),
                        SHARDING_INFO + " has " + at.length + " offsets for a tensor of shape " + entry.shape());
            }
            parts.computeIfAbsent(entry.name(), key -> new ArrayList<>(1)).add(new Part(name, entry, at));
        }
    }

    private DcpMetadata join(String source) throws CheckpointException {
        DcpMetadataBuilder builder = new DcpMetadataBuilder(source);
        for (Map.Entry<String, List<Part>> tensor : parts.entrySet()) {
            String name = tensor.getKey();
            SafetensorsEntry first = tensor.getValue().get(0).entry();
            long[] whole = new long[first.shape().rank()];
            for (Part part : tensor.getValue()) {
                if (part.offsets().length != whole.length
                        || !part.entry().code().equals(first.code())) {
                    throw CheckpointException.of(
                            CheckpointException.Kind.INCONSISTENT,
                            source + ", tensor " + name,
                            "its parts differ in type or number of dimensions: " + first + " and " + part.entry());
                }
                long[] sizes = part.entry().shape().toArray();
                for (int dim = 0; dim < whole.length; dim++) {
                    if (part.offsets()[dim] < 0 || part.offsets()[dim] > Long.MAX_VALUE - sizes[dim]) {
                        throw CheckpointException.of(
                                CheckpointException.Kind.MALFORMED,
                                part.file() + ", tensor " + name,
                                "the offset " + part.offsets()[dim] + " is negative or overflows");
                    }
                    whole[dim] = Math.max(whole[dim], part.offsets()[dim] + sizes[dim]);
                }
            }
            builder.tensor(name, first.dtype().map(DType::torchName).orElse(first.code()), whole);
            for (Part part : tensor.getValue()) {
                builder.chunk(part.offsets(), part.entry().shape().toArray());
            }
            for (int i = 0; i < tensor.getValue().size(); i++) {
                Part part = tensor.getValue().get(i);
                Place place = new Place(part.file(), 0, part.entry().bytes(), List.of());
                builder.place(name, Optional.of(part.offsets()), i, place);
            }
        }
        return builder.finish();
    }

    private static Map<String, long[]> savedOffsets(SafetensorsFile file) throws IOException {
        Map<String, long[]> offsets = new LinkedHashMap<>();
        String text = file.metadata().get(SHARDING_INFO);
        if (text == null) {
            return offsets;
        }
        try (JsonParser json = JSON.createParser(text)) {
            if (json.nextToken() == JsonToken.START_OBJECT) {
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    String name = json.currentName();
                    if (json.nextToken() == JsonToken.START_OBJECT) {
                        readOffsets(json).ifPresent(saved -> offsets.put(name, saved));
                    } else {
                        json.skipChildren();
                    }
                }
            }
        } catch (JsonProcessingException e) {
            throw CheckpointException.of(
                            CheckpointException.Kind.MALFORMED,
                            file.source().name(),
                            SHARDING_INFO + " is not valid JSON: " + e.getOriginalMessage())
                    .causedBy(e);
        }
        return offsets;
    }

    private static Optional<long[]> readOffsets(JsonParser json) throws IOException {
        Optional<long[]> saved = Optional.empty();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            boolean wanted = json.currentName().equals("saved_offsets");
            JsonToken token = json.nextToken();
            if (wanted && token == JsonToken.START_ARRAY) {
                List<Long> numbers = new ArrayList<>();
                while (json.nextToken() == JsonToken.VALUE_NUMBER_INT) {
                    numbers.add(json.getLongValue());
                }
                saved = Optional.of(numbers.stream().mapToLong(Long::longValue).toArray());
            } else {
                json.skipChildren();
            }
        }
        return saved;
    }
}
