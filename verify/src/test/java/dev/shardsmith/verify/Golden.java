package dev.shardsmith.verify;

import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Opens golden checkpoints, and copies them where a test damages one. */
public final class Golden {
    private Golden() {}

    /** The view of a folder under {@code test-data/}. */
    public static ModelView open(String... parts) throws IOException {
        return open(TestData.path(parts));
    }

    /** The view of a checkpoint. */
    public static ModelView open(Path path) throws IOException {
        return Checkpoints.open(path, OpenOptions.defaults());
    }

    /** A copy of a folder under {@code test-data/}. */
    public static Path copy(Path target, String... parts) throws IOException {
        Path source = TestData.path(parts);
        try (Stream<Path> files = Files.walk(source)) {
            for (Path file : files.toList()) {
                Path copy = target.resolve(source.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(copy);
                } else {
                    Files.copy(file, copy);
                }
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return target;
    }

    /** Flips one bit of a file. */
    public static void flip(Path file, long offset, int bit) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[Math.toIntExact(offset)] ^= (byte) (1 << bit);
        Files.write(file, bytes);
    }
}
