package dev.shardsmith.formats.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.safetensors.SafetensorsImage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Divides tensors over files of limited size and lays them out, with the index that says where each is.
 *
 * <p>Greedy in the given order: a tensor above the limit gets a file of its own at once, any other closes the open file if
 * it would push it above the limit.
 */
public final class SafetensorsShards {
    /** The usual limit for Hugging Face folders: 5 GB of 10^9 bytes. */
    public static final long DEFAULT_SHARD_BYTES = 5_000_000_000L;

    private static final JsonFactory JSON = new JsonFactory();

    private SafetensorsShards() {}

    /**
     * Lays out {@code model.safetensors}, or its shards followed by {@code model.safetensors.index.json}.
     *
     * @param tensors the tensors in the order of the model
     * @param metadata entries of {@code __metadata__} of every file
     * @param maxShardBytes limit on the tensor bytes of one file
     */
    public static List<FileImage> of(List<Tensor> tensors, Map<String, String> metadata, long maxShardBytes)
            throws CheckpointException {
        List<List<Tensor>> shards = divide(tensors, maxShardBytes);
        if (shards.size() == 1) {
            return List.of(SafetensorsImage.of("model.safetensors", tensors, metadata));
        }
        List<FileImage> images = new ArrayList<>();
        // Sorted by name, as the reference writes it.
        Map<String, String> fileOf = new TreeMap<>(SafetensorsImage::compareUtf8);
        long total = 0;
        for (int i = 0; i < shards.size(); i++) {
            String file = String.format(Locale.ROOT, "model-%05d-of-%05d.safetensors", i + 1, shards.size());
            images.add(SafetensorsImage.of(file, shards.get(i), metadata));
            for (Tensor tensor : shards.get(i)) {
                if (fileOf.put(tensor.name(), file) != null) {
                    throw CheckpointException.of(
                            CheckpointException.Kind.REFUSED,
                            "tensor " + tensor.name(),
                            "two tensors would have the name '" + tensor.name() + "'");
                }
                total = Math.addExact(total, tensor.bytes());
            }
        }
        byte[] index = index(total, fileOf);
        images.add(new FileImage(
                SafetensorsIndex.SAFETENSORS_NAME,
                index.length,
                List.of(new FileImage.Literal(0, index)),
                List.of(),
                List.of()));
        return images;
    }

    static List<List<Tensor>> divide(List<Tensor> tensors, long maxShardBytes) {
        if (maxShardBytes <= 0) {
            throw new IllegalArgumentException("a shard of " + maxShardBytes + " bytes");
        }
        List<List<Tensor>> shards = new ArrayList<>();
        List<Tensor> open = new ArrayList<>();
        long openBytes = 0;
        for (Tensor tensor : tensors) {
            if (tensor.bytes() > maxShardBytes) {
                shards.add(List.of(tensor));
                continue;
            }
            if (!open.isEmpty() && tensor.bytes() > maxShardBytes - openBytes) {
                shards.add(open);
                open = new ArrayList<>();
                openBytes = 0;
            }
            open.add(tensor);
            openBytes += tensor.bytes();
        }
        if (!open.isEmpty() || shards.isEmpty()) {
            shards.add(open);
        }
        return shards;
    }

    private static byte[] index(long totalSize, Map<String, String> fileOf) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.setPrettyPrinter(new DefaultPrettyPrinter(
                            Separators.createDefaultInstance().withObjectFieldValueSpacing(Separators.Spacing.AFTER))
                    .withObjectIndenter(new DefaultIndenter("  ", "\n")));
            json.writeStartObject();
            json.writeObjectFieldStart("metadata");
            json.writeNumberField("total_size", totalSize);
            json.writeEndObject();
            json.writeObjectFieldStart("weight_map");
            for (Map.Entry<String, String> entry : fileOf.entrySet()) {
                json.writeStringField(entry.getKey(), entry.getValue());
            }
            json.writeEndObject();
            json.writeEndObject();
            json.writeRaw('\n');
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory failed", e);
        }
        return bytes.toByteArray();
    }
}
