package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.plan.Plan;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.stream.Stream;

/** What is done with whole files and folders of the target. */
public final class TargetPaths {
    private TargetPaths() {}

    /**
     * A file's place in the output folder.
     *
     * @throws CheckpointException if the path leads out of the folder
     */
    static Path resolve(Path output, String relative) throws CheckpointException {
        Path path = output.resolve(relative).normalize();
        if (relative.isEmpty() || Path.of(relative).isAbsolute() || !path.startsWith(output) || path.equals(output)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT, relative, "the plan writes outside of its output folder");
        }
        return path;
    }

    /** The path with symbolic links resolved, as far as it exists. */
    public static Path real(Path path) throws IOException {
        Path absolute = path.toAbsolutePath().normalize();
        if (Files.exists(absolute)) {
            return absolute.toRealPath();
        }
        Path parent = absolute.getParent();
        return parent == null ? absolute : real(parent).resolve(absolute.getFileName());
    }

    /**
     * Checks that no source file is the destination or lies inside it.
     *
     * @throws CheckpointException if one does
     */
    static void checkApart(Plan plan, Path destination) throws IOException {
        for (Path file : plan.sourceFiles()) {
            if (real(file).startsWith(destination)) {
                throw CheckpointException.of(
                                CheckpointException.Kind.REFUSED,
                                destination.toString(),
                                "the source " + file + " lies in the destination")
                        .withHint("write to another folder; the source is never changed");
            }
        }
    }

    /** True for a folder with nothing in it. */
    static boolean isEmptyFolder(Path path) throws IOException {
        if (!Files.isDirectory(path)) {
            return false;
        }
        try (Stream<Path> entries = Files.list(path)) {
            return entries.findAny().isEmpty();
        }
    }

    /** Deletes a file, or a folder with everything in it; symbolic links are not followed. */
    static void delete(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        Files.walkFileTree(path, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path folder, IOException failure) throws IOException {
                if (failure != null) {
                    throw failure;
                }
                Files.deleteIfExists(folder);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Brings the entries of a folder, and of the folders in it, to the disk. */
    static void forceFolders(Path folder) throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException failure) throws IOException {
                forceFolder(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Brings the entries of one folder to the disk. */
    static void forceFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
