package dev.shardsmith.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Copies of golden folders of transformers and mamba_ssm with one option of their {@code config.json} changed. */
final class ConfigurationFolders {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ConfigurationFolders() {}

    /** A golden folder by its name under the test data; those of transformers have their weights in a folder of their own. */
    static Path golden(String name) {
        Path folder = TestData.path(name);
        return Files.exists(folder.resolve("config.json")) ? folder : folder.resolve("safetensors");
    }

    /** The files of a golden folder, linked where that can be, in a new folder. */
    static Path copy(String name, Path target) throws IOException {
        Files.createDirectories(target);
        try (Stream<Path> files = Files.list(golden(name))) {
            for (Path file : files.toList()) {
                Files.copy(file, target.resolve(file.getFileName().toString()));
            }
        }
        return target;
    }

    /**
     * Changes an option.
     *
     * @param path its name; a dot leads into an option inside
     * @param value what it becomes, as JSON; removed if empty
     */
    static void set(Path folder, String path, String value) throws IOException {
        Path file = folder.resolve("config.json");
        ObjectNode config = (ObjectNode) JSON.readTree(file.toFile());
        ObjectNode inside = config;
        List<String> names = List.of(path.split("\\."));
        for (String name : names.subList(0, names.size() - 1)) {
            inside = (ObjectNode) inside.get(name);
        }
        String last = names.get(names.size() - 1);
        String text;
        if (value.isEmpty()) {
            inside.remove(last);
            text = config.toString();
        } else {
            // NaN and other words are no JSON, but Python writes them.
            inside.put(last, "\u0001");
            text = config.toString().replace("\"\\u0001\"", value);
        }
        Files.writeString(file, text);
    }

    /** The configuration of a folder. */
    static JsonNode config(Path folder) throws IOException {
        return JSON.readTree(folder.resolve("config.json").toFile());
    }
}
