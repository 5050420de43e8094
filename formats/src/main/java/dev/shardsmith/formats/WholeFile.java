package dev.shardsmith.formats;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A small file that appears complete or not at all; one that was there stays until then. */
public final class WholeFile {
    /** Writes the content. */
    @FunctionalInterface
    public interface Content {
        /** Writes all of it. */
        void writeTo(OutputStream out) throws IOException;
    }

    private WholeFile() {}

    /** Writes a file, making its folder; what is no regular file, such as {@code /dev/null}, is written to directly. */
    public static void write(Path file, Content content) throws IOException {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            writeTo(file, content);
            return;
        }
        Path folder = file.toAbsolutePath().getParent();
        Files.createDirectories(folder);
        Path unfinished = folder.resolve("." + file.getFileName() + ".new");
        try {
            writeTo(unfinished, content);
            Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    private static void writeTo(Path file, Content content) throws IOException {
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file))) {
            content.writeTo(out);
        }
    }
}
