package dev.shardsmith.testdata;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Finds the golden files under {@code test-data/}. */
public final class TestData {
    private static final ObjectMapper JSON = new ObjectMapper();

    private TestData() {}

    /** The repository's root folder. */
    public static Path root() {
        String given = System.getProperty("shardsmith.root");
        Path folder = Path.of(given == null || given.isEmpty() ? "." : given)
                .toAbsolutePath()
                .normalize();
        while (!Files.isDirectory(folder.resolve("test-data"))) {
            folder = folder.getParent();
            if (folder == null) {
                throw new IllegalStateException("no test-data folder above the working directory");
            }
        }
        return folder;
    }

    /** A file or folder under {@code test-data/}: {@code path("pytorch-zip", "dtypes")}. */
    public static Path path(String... parts) {
        Path path = root().resolve("test-data");
        for (String part : parts) {
            path = path.resolve(part);
        }
        if (!Files.exists(path)) {
            throw new IllegalStateException("no " + path);
        }
        return path;
    }

    /** The case folders of a group, by name. */
    public static List<Path> cases(String group) {
        try (Stream<Path> folders = Files.list(path(group))) {
            return folders.filter(Files::isDirectory).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The parsed {@code expected.json} of a case folder. */
    public static JsonNode expected(Path folder) {
        return json(folder.resolve("expected.json"));
    }

    /** A parsed JSON file. */
    public static JsonNode json(Path file) {
        try {
            return JSON.readTree(file.toFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
