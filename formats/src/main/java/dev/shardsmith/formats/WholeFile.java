package dev.shardsmith.formats;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * A small file to be written, such as a report: it appears complete or not at all.
 *
 * <p>What is no regular file, such as {@code /dev/stdout}, is written to directly and never replaced.
 */
public final class WholeFile {
    /** What becomes of a file that is there already. */
    public enum Existing {
        /** It stays, and writing fails. */
        KEEP,
        /** It stays until the new one is complete. */
        REPLACE
    }

    /** Writes the content. */
    @FunctionalInterface
    public interface Content {
        /** Writes all of it. */
        void writeTo(OutputStream out) throws IOException;
    }

    /** Makes a file. */
    @FunctionalInterface
    public interface Maker {
        /** Makes the file, which is not there yet. */
        void make(Path file) throws IOException;
    }

    private final Path path;
    private final Existing existing;

    private WholeFile(Path path, Existing existing) {
        this.path = path;
        this.existing = existing;
    }

    /** A file to be written; nothing happens yet. */
    public static WholeFile of(Path path, Existing existing) {
        return new WholeFile(path, existing);
    }

    /** A file to be written in place of one that may be there. */
    public static WholeFile replacing(Path path) {
        return new WholeFile(path, Existing.REPLACE);
    }

    /** Where it will be. */
    public Path path() {
        return path;
    }

    /** True if writing would fail, because there is a file that has to stay. */
    public boolean isTaken() {
        return existing == Existing.KEEP && Files.isRegularFile(path);
    }

    /** True if there is something that takes bytes but is no file, such as {@code /dev/null}. */
    public boolean isDevice() {
        return Files.exists(path) && !Files.isRegularFile(path) && !Files.isDirectory(path);
    }

    /**
     * Writes the file, and makes its folder where there is none.
     *
     * @throws FileAlreadyExistsException if there is one that has to stay
     */
    public void write(Content content) throws IOException {
        if (isDevice()) {
            writeTo(path, content);
        } else {
            make(unfinished -> writeTo(unfinished, content));
        }
    }

    /**
     * As {@link #write}, for what needs a file to write to; a device does not do.
     *
     * @throws FileAlreadyExistsException if there is one that has to stay, or something that is no file
     */
    public void make(Maker maker) throws IOException {
        Path folder = path.toAbsolutePath().getParent();
        Files.createDirectories(folder);
        Path unfinished = folder.resolve("." + path.getFileName() + ".new");
        Files.deleteIfExists(unfinished);
        try {
            maker.make(unfinished);
            // Also where the file has come to be while this one was made.
            if (isTaken() || (Files.exists(path) && !Files.isRegularFile(path))) {
                throw new FileAlreadyExistsException(path.toString());
            }
            Files.move(unfinished, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    /** Writes to the file itself or to an unfinished one beside it: a failure tells the name that the user gave. */
    private void writeTo(Path file, Content content) throws IOException {
        try (OutputStream out = new BufferedOutputStream(new NamedOutput(path, Files.newOutputStream(file)))) {
            content.writeTo(out);
        }
    }
}
