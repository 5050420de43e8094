package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/** The hidden folder beside the destination in which the target grows; its lock belongs to this process while it is open. */
final class PartialFolder implements Closeable {
    /** Bytes of the lock file that stand for the short steps that only one process takes at a time. */
    private static final long SETUP = 1L << 40;

    private static final long FINISH = SETUP + 1;
    private static final int MOST_ATTEMPTS = 100;
    private static final String JOURNALS = "journal-*";

    private final Path folder;
    private final FileChannel lockFile;
    private RunHeader header;

    private PartialFolder(Path folder, FileChannel lockFile) {
        this.folder = folder;
        this.lockFile = lockFile;
    }

    /** The folder in which the target at {@code destination} grows. */
    static Path of(Path destination) {
        return destination.resolveSibling("." + destination.getFileName() + ".shardsmith-partial");
    }

    /**
     * Opens the folder for one task, made anew or continued.
     *
     * @param wanted how this run would cut the work; the header that is there already wins
     * @throws CheckpointException if another process is at it, or it belongs to another plan
     */
    static PartialFolder open(Path destination, RunHeader wanted, ExecutionOptions options) throws IOException {
        Path folder = of(destination);
        try {
            for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
                Files.createDirectories(folder);
                PartialFolder partial = new PartialFolder(
                        folder,
                        FileChannel.open(folder.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE));
                if (partial.set(destination, wanted, options)) {
                    return partial;
                }
                partial.close();
            }
        } catch (NoSuchFileException e) {
            throw EnvironmentFailure.of("make", Path.of(e.getFile()), e);
        } catch (IOException e) {
            throw EnvironmentFailure.of("make", folder, e);
        }
        throw busy(folder);
    }

    /** How the work is cut. */
    RunHeader header() {
        return header;
    }

    /** Where the target's files are. */
    Path output() {
        return output(folder);
    }

    /** Where the target's files are in a partial folder. */
    static Path output(Path folder) {
        return folder.resolve("output");
    }

    /** A file that is there once the target is complete. */
    Path publishing() {
        return publishing(folder);
    }

    /** The file of a partial folder that is there once the target is complete. */
    static Path publishing(Path folder) {
        return folder.resolve("publishing");
    }

    /** What was at the destination before. */
    Path replaced() {
        return folder.resolve("replaced");
    }

    /** The journal of a task. */
    Path journal(int task) {
        return folder.resolve("journal-" + task + "-of-" + header.tasks());
    }

    /** True until the folder is removed, by this process or another one. */
    boolean exists() {
        return Files.exists(folder.resolve("header"));
    }

    /** Keeps other tasks from finishing while this one does, until the folder is closed. */
    void lockFinish() throws IOException {
        lock(FINISH);
    }

    /** Removes the folder and everything in it. */
    void remove() throws IOException {
        // The header goes first: what is left of a folder without it is nobody's work.
        Files.deleteIfExists(folder.resolve("header"));
        TargetPaths.delete(folder);
    }

    @Override
    public void close() throws IOException {
        lockFile.close();
    }

    /** Sets the folder up under the setup lock; false if it was removed meanwhile and must be opened again. */
    private boolean set(Path destination, RunHeader wanted, ExecutionOptions options) throws IOException {
        boolean done = false;
        FileLock setup = lock(SETUP);
        try {
            if (!Files.exists(folder.resolve("lock"))) {
                return false;
            }
            Optional<RunHeader> found = RunHeader.read(folder.resolve("header"));
            if (found.isPresent() && continues(found.get(), wanted, options)) {
                header = found.get();
            } else {
                clear(destination, wanted.tasks());
                wanted.write(folder.resolve("header"));
                header = wanted;
            }
            if (tryLock(options.task().index(), 1).isEmpty()) {
                throw busy(folder);
            }
            done = true;
            return true;
        } finally {
            setup.release();
            if (!done) {
                lockFile.close();
            }
        }
    }

    private boolean continues(RunHeader found, RunHeader wanted, ExecutionOptions options) throws IOException {
        boolean replace = options.existing() == ExecutionOptions.Existing.REPLACE;
        boolean samePlan = found.plan().equals(wanted.plan()) && found.tasks() == wanted.tasks();
        boolean goOn = options.start() == ExecutionOptions.Start.RESUME || wanted.tasks() > 1;
        if (samePlan && (goOn || replace)) {
            return goOn;
        }
        if (replace || hasNothingDone()) {
            return false;
        }
        if (samePlan) {
            throw CheckpointException.of(
                            CheckpointException.Kind.REFUSED,
                            folder.toString(),
                            "an earlier run of the same conversion did not finish")
                    .withHint("--resume goes on from where it stopped; --force starts again");
        }
        throw CheckpointException.of(
                        CheckpointException.Kind.REFUSED,
                        folder.toString(),
                        "an unfinished run of another conversion, or of a source that has changed, is in the way")
                .withHint("--force removes it and starts again");
    }

    /** True if an earlier run left nothing that is worth asking about. */
    private boolean hasNothingDone() throws IOException {
        if (Files.exists(replaced())) {
            return false;
        }
        try (DirectoryStream<Path> journals = Files.newDirectoryStream(folder, JOURNALS)) {
            for (Path journal : journals) {
                if (Journal.read(journal, new Journal.State()) > 0) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Removes what another run left, unless a process is still at it. */
    private void clear(Path destination, int tasks) throws IOException {
        Optional<FileLock> all = tryLock(0, SETUP);
        if (all.isEmpty()) {
            throw busy(folder);
        }
        try {
            Files.deleteIfExists(folder.resolve("header"));
            if (Files.exists(replaced())) {
                // A run stopped between the two renames that replace a destination: the old one goes back.
                if (!Files.exists(destination)) {
                    Files.move(replaced(), destination, StandardCopyOption.ATOMIC_MOVE);
                } else {
                    TargetPaths.delete(replaced());
                }
            }
            Files.deleteIfExists(publishing());
            TargetPaths.delete(output());
            try (DirectoryStream<Path> journals = Files.newDirectoryStream(folder, JOURNALS)) {
                for (Path journal : journals) {
                    Files.delete(journal);
                }
            }
        } finally {
            all.get().release();
        }
    }

    private FileLock lock(long position) throws IOException {
        for (int attempt = 0; ; attempt++) {
            try {
                return lockFile.lock(position, 1, false);
            } catch (OverlappingFileLockException e) {
                // Only threads of one process get here, since a process's locks do not block itself.
                if (attempt == 60_000) {
                    throw busy(folder);
                }
                try {
                    Thread.sleep(1);
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    throw busy(folder);
                }
            }
        }
    }

    private Optional<FileLock> tryLock(long position, long size) throws IOException {
        try {
            return Optional.ofNullable(lockFile.tryLock(position, size, false));
        } catch (OverlappingFileLockException e) {
            return Optional.empty();
        }
    }

    private static CheckpointException busy(Path folder) {
        return CheckpointException.of(
                        CheckpointException.Kind.ENVIRONMENT,
                        folder.toString(),
                        "another process is writing this destination")
                .withHint("wait for it, or choose another destination");
    }
}
