package dev.shardsmith.formats.layout;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** The names in a folder, sorted, and access to them that does not leave the folder. */
final class FolderListing {
    private final Path folder;
    private final Path real;
    private final List<String> names;

    private FolderListing(Path folder, Path real, List<String> names) {
        this.folder = folder;
        this.real = real;
        this.names = names;
    }

    static FolderListing of(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            List<String> names =
                    files.map(file -> file.getFileName().toString()).sorted().toList();
            return new FolderListing(folder, folder.toRealPath(), names);
        }
    }

    Path folder() {
        return folder;
    }

    List<String> names() {
        return names;
    }

    boolean has(String name) {
        return names.contains(name);
    }

    boolean hasEnding(String ending) {
        return names.stream().anyMatch(name -> name.endsWith(ending));
    }

    boolean isFolder(String name) {
        return Files.isDirectory(folder.resolve(name));
    }

    /** True if the folder has a regular file of this name. */
    boolean isFile(String name) {
        return has(name) && Files.isRegularFile(folder.resolve(name));
    }

    /**
     * The path of a name.
     *
     * @throws CheckpointException of kind REFUSED if it is a link that leads out of the checkpoint
     */
    Path inside(String name) throws IOException {
        Path file = folder.resolve(name);
        Path target;
        try {
            target = file.toRealPath();
        } catch (NoSuchFileException e) {
            throw CheckpointException.of(
                            CheckpointException.Kind.INCOMPLETE, file.toString(), "the file does not exist")
                    .causedBy(e);
        }
        if (!target.startsWith(real) && !isInHubCache(target)) {
            throw CheckpointException.of(
                            CheckpointException.Kind.REFUSED,
                            file.toString(),
                            "this is a link that leads out of the checkpoint, to " + target)
                    .withHint("copy what it leads to in its place");
        }
        return file;
    }

    /** True for the links that the Hugging Face hub's cache is made of: snapshots/REVISION/name to blobs/HASH. */
    private boolean isInHubCache(Path target) {
        Path snapshots = real.getParent();
        return snapshots != null
                && snapshots.getParent() != null
                && snapshots.endsWith("snapshots")
                && target.startsWith(snapshots.getParent().resolve("blobs"));
    }

    /** Up to a few names, for messages. */
    static String some(List<String> names) {
        int told = Math.min(names.size(), 8);
        String text = String.join(", ", names.subList(0, told));
        return told == names.size() ? text : text + String.format(Locale.ROOT, " and %d more", names.size() - told);
    }
}
