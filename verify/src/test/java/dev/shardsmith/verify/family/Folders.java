package dev.shardsmith.verify.family;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
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

/** Opens model folders for tests without any rule of conversion. */
final class Folders {
    private Folders() {}

    static Settings config(Path folder) throws IOException {
        Map<String, Object> values = new ObjectMapper()
                .readValue(folder.resolve("config.json").toFile(), new TypeReference<Map<String, Object>>() {});
        return new Settings(folder + "/config.json", values);
    }

    /** The tensors of a PyTorch file. */
    static NamedWeights torch(Path file, FilePool pool) throws IOException {
        return torch(file, pool, "");
    }

    /** The tensors of a PyTorch file below a key. */
    static NamedWeights torch(Path file, FilePool pool, String below) throws IOException {
        Map<String, NamedWeights.Entry> entries = new LinkedHashMap<>();
        for (NamedTensor named : TorchFile.open(pool, file).tensors()) {
            if (named.name().startsWith(below) && named.tensor().data().isPresent()) {
                String name = named.name().substring(below.length());
                entries.put(name, entry(name, named.tensor().data().get()));
            }
        }
        return new NamedWeights(entries);
    }

    static NamedWeights.Entry entry(String name, StoredTensor tensor) {
        int[] shape = new int[tensor.shape().rank()];
        for (int dim = 0; dim < shape.length; dim++) {
            shape[dim] = (int) tensor.shape().size(dim);
        }
        return new NamedWeights.Entry(shape, new StoredWeight(name, tensor));
    }

    static List<Path> files(Path folder, String ending) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(ending))
                    .sorted()
                    .toList();
        }
    }
}
