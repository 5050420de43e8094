package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.json.Json;
import dev.shardsmith.formats.safetensors.SafetensorsImage;
import dev.shardsmith.formats.safetensors.SafetensorsShards;
import dev.shardsmith.reshard.family.NamedPart;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The safetensors files of a Hugging Face folder, gathered tensor by tensor. */
final class HuggingFaceFiles {
    /** What goes along with a model and is not weights. */
    private static final Pattern COMPANION = Pattern.compile("[^.].*\\.(json|txt|model|jinja|tiktoken|py|md)|LICENSE");

    /** What is made anew. */
    private static final Pattern OWN = Pattern.compile("config\\.json|.*\\.index\\.json");

    private record Place(String tensor, NamedPart part) {}

    private final TargetLayout layout;
    private final List<SafetensorsImage.Tensor> tensors = new ArrayList<>();
    private final List<Place> places = new ArrayList<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();

    HuggingFaceFiles(TargetLayout layout) {
        this.layout = layout;
        metadata.put("format", "pt");
    }

    /** Adds the tensor that holds a part of a logical one. */
    void add(String tensor, DType dtype, NamedPart part) {
        tensors.add(new SafetensorsImage.Tensor(part.name(), dtype, part.shape()));
        places.add(new Place(tensor, part));
    }

    /** Adds an entry of the files' own metadata. */
    void putMetadata(String key, String value) {
        metadata.put(key, value);
    }

    /** Lays out all files; a tensor larger than the limit gets a file of its own. */
    void finish(OptionalLong maxShardBytes) throws CheckpointException {
        long limit = maxShardBytes.orElse(SafetensorsShards.DEFAULT_SHARD_BYTES);
        Map<String, String> fileOf = new LinkedHashMap<>();
        for (FileImage image : SafetensorsShards.of(tensors, metadata, limit)) {
            layout.addFile(image);
            image.slots().forEach(slot -> fileOf.put(slot.key(), image.path()));
        }
        for (int i = 0; i < places.size(); i++) {
            Place place = places.get(i);
            SafetensorsImage.Tensor tensor = tensors.get(i);
            StoredTensor slot =
                    TargetLayout.slot(fileOf.get(tensor.name()), tensor.name(), tensor.dtype(), tensor.shape());
            for (NamedPart.Link link : place.part().links()) {
                layout.addPiece(
                        place.tensor(),
                        new Piece(
                                link.logical().offset(),
                                slot.narrow(link.at(), link.logical().size())));
            }
        }
    }

    /** Adds {@code config.json}. */
    void addConfig(Map<String, Object> config) {
        layout.addFile(literal("config.json", Json.write(config)));
    }

    /** Copies the small files beside the weights, such as the tokenizer's, where the source is such a folder too. */
    void copyCompanions(ModelView source) throws IOException {
        if (source.layout() != ModelView.Layout.HUGGINGFACE || !Files.isDirectory(source.path())) {
            return;
        }
        List<String> names;
        try (Stream<Path> files = Files.list(source.path())) {
            names = files.filter(Files::isRegularFile)
                    .map(file -> file.getFileName().toString())
                    .filter(name -> COMPANION.matcher(name).matches()
                            && !OWN.matcher(name).matches())
                    .sorted()
                    .toList();
        }
        for (String name : names) {
            ByteSource bytes = source.files().file(source.path().resolve(name));
            Shape shape = Shape.of(bytes.size());
            layout.addFile(new FileImage(
                    name, bytes.size(), List.of(), List.of(new FileImage.Slot(name, 0, bytes.size())), List.of()));
            layout.addState(
                    name,
                    new TargetLayout.StateTensor(
                            StoredTensor.contiguous(name, DType.U8, shape, bytes, 0),
                            TargetLayout.slot(name, name, DType.U8, shape)));
        }
    }

    /** A file of known text. */
    static FileImage literal(String path, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return new FileImage(path, bytes.length, List.of(new FileImage.Literal(0, bytes)), List.of(), List.of());
    }
}
