package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.safetensors.SafetensorsEntry;
import dev.shardsmith.formats.safetensors.SafetensorsFile;
import dev.shardsmith.formats.safetensors.SafetensorsIndex;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.verify.forward.StoredWeight;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The tensors of a Hugging Face folder under their names on disk. */
public final class HuggingFaceFolder {
    private HuggingFaceFolder() {}

    /**
     * Opens the shards that the index names, or without an index all files of weights; no tensor is read.
     *
     * @throws CheckpointException if there is none
     */
    public static NamedWeights open(Path folder, FilePool pool) throws IOException {
        Map<String, NamedWeights.Entry> entries = new LinkedHashMap<>();
        for (Path file : files(folder, pool)) {
            if (file.toString().endsWith(".safetensors")) {
                for (SafetensorsEntry entry :
                        SafetensorsFile.open(pool.file(file)).entries()) {
                    entries.put(entry.name(), entry(entry.name(), entry.tensor()));
                }
            } else {
                for (NamedTensor named : TorchFile.open(pool, file).tensors()) {
                    named.tensor().data().ifPresent(data -> entries.put(named.name(), entry(named.name(), data)));
                }
            }
        }
        return new NamedWeights(entries);
    }

    private static List<Path> files(Path folder, FilePool pool) throws IOException {
        for (String name : List.of(SafetensorsIndex.SAFETENSORS_NAME, SafetensorsIndex.BIN_NAME)) {
            if (Files.exists(folder.resolve(name))) {
                SafetensorsIndex index = SafetensorsIndex.read(pool.file(folder.resolve(name)));
                return index.files().stream().map(folder::resolve).toList();
            }
        }
        for (String ending : List.of(".safetensors", ".bin")) {
            try (Stream<Path> all = Files.list(folder)) {
                List<Path> found = all.filter(file -> file.toString().endsWith(ending))
                        .sorted()
                        .toList();
                if (!found.isEmpty()) {
                    return found;
                }
            }
        }
        throw CheckpointException.of(
                CheckpointException.Kind.INCOMPLETE, folder.toString(), "no .safetensors and no .bin file is here");
    }

    private static NamedWeights.Entry entry(String name, StoredTensor tensor) {
        int[] shape = new int[tensor.shape().rank()];
        for (int dim = 0; dim < shape.length; dim++) {
            shape[dim] = (int) Math.min(Integer.MAX_VALUE, tensor.shape().size(dim));
        }
        return new NamedWeights.Entry(shape, new StoredWeight(name, tensor));
    }
}
