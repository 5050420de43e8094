package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Reports what files would do if Python loaded them, and in what they differ from files that PyTorch writes.
 *
 * <p>The parser is the one that reads checkpoints; nothing is run. The verdict is clean only if everything was read.
 */
public final class TorchScan {
    /** Files that Python may be made to load, whatever is in them. */
    private static final Set<String> EXTENSIONS = Set.of(
            "pt", "pth", "bin", "ckpt", "pkl", "pickle", "distcp", "metadata", "tar", "npy", "npz", "model", "pt2");

    private static final int DEEPEST_FOLDER = 16;

    private final TorchLimits limits;
    private final ScanNotes notes = new ScanNotes();

    private TorchScan(TorchLimits limits) {
        this.limits = limits;
    }

    /** Scans a file, or all files below a folder. */
    public static ScanReport scan(Path path) throws IOException {
        return scan(path, TorchLimits.defaults());
    }

    /** Scans a file, or all files below a folder, within limits. */
    public static ScanReport scan(Path path, TorchLimits limits) throws IOException {
        TorchScan scan = new TorchScan(limits);
        try (FilePool files = new FilePool()) {
            if (Files.isDirectory(path)) {
                scan.folder(path, files);
            } else {
                scan.file(files.file(path), true);
            }
        }
        return scan.notes.report();
    }

    /** Scans one file or a part of one. */
    public static ScanReport scan(ByteSource source) {
        TorchScan scan = new TorchScan(TorchLimits.defaults());
        scan.file(source, true);
        return scan.notes.report();
    }

    private void folder(Path folder, FilePool files) throws IOException {
        List<Path> paths;
        try (Stream<Path> walk = Files.walk(folder, DEEPEST_FOLDER)) {
            paths = walk.filter(path -> !Files.isDirectory(path)).sorted().toList();
        }
        if (paths.isEmpty()) {
            notes.unread(folder.toString(), "the folder is empty");
        }
        for (Path path : paths) {
            String name = folder.relativize(path).toString();
            if (Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
                file(files.file(path, name), hasExtension(name));
            } else {
                notes.unread(name, "this is a link or a device, which is not followed");
            }
        }
    }

    private static boolean hasExtension(String name) {
        return EXTENSIONS.contains(name.substring(name.lastIndexOf('.') + 1));
    }

    /** Scans one file; other kinds of files matter only if Python would be made to load them. */
    private void file(ByteSource source, boolean mustBeReadable) {
        boolean before = notes.beginFile();
        FileKind kind = FileKind.UNKNOWN;
        try {
            kind = FileKind.detect(source);
            new ContentScan(notes, limits).scan(source, kind, mustBeReadable);
        } catch (CheckpointException e) {
            notes.unread(source.name(), e);
        } catch (IOException e) {
            notes.unread(source.name(), "the file cannot be read: " + e.getMessage());
        }
        notes.file(source.name(), kind);
        notes.endFile(before);
    }
}
