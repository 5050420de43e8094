package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.verify.digest.ManifestFinding.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

/**
 * The files of a manifest as a checkpoint has them.
 *
 * <p>The checkpoint may be named by its root or by the folder of its iteration, whichever the manifest was made of, and a
 * single file may have another name.
 */
final class ManifestFiles {
    private final Map<FileEntry, Path> files = new LinkedHashMap<>();
    private final Map<Path, String> names = new HashMap<>();
    private final Set<Path> intact = new HashSet<>();
    private boolean foreign;

    private ManifestFiles() {}

    /** Finds the files of a manifest in a checkpoint; reads none. */
    static ManifestFiles of(CheckpointManifest manifest, Path root) throws IOException {
        ManifestFiles found = new ManifestFiles();
        boolean alone = manifest.files().size() == 1 && Files.isRegularFile(root);
        List<Path> folders = folders(root);
        for (FileEntry entry : manifest.files()) {
            Path path = alone ? absolute(root) : resolve(entry, folders);
            found.files.put(entry, path);
            found.names.putIfAbsent(path, entry.path());
        }
        return found;
    }

    /** Where paths of a manifest may begin: the checkpoint's folder, then the folders in it. */
    private static List<Path> folders(Path root) throws IOException {
        Path folder = absolute(Files.isDirectory(root) ? root : absolute(root).getParent());
        List<Path> folders = new ArrayList<>(List.of(folder));
        if (Files.isDirectory(root)) {
            try (Stream<Path> inside = Files.list(folder)) {
                inside.filter(Files::isDirectory).sorted().forEach(folders::add);
            }
        }
        return folders;
    }

    private static Path resolve(FileEntry entry, List<Path> folders) {
        Path root = folders.get(0);
        Path path = root.getFileSystem().getPath(entry.path());
        // A manifest is an input like any other: it shall not make us read elsewhere.
        boolean inside = !path.isAbsolute() && root.resolve(path).normalize().startsWith(root);
        Path given = inside ? path.normalize() : path.getFileName();
        if (given == null) {
            return root;
        }
        if (Files.isRegularFile(root.resolve(given))) {
            return root.resolve(given);
        }
        if (given.getNameCount() > 1) {
            Path within = root.resolve(given.subpath(1, given.getNameCount()));
            if (Files.isRegularFile(within)) {
                return within;
            }
        }
        List<Path> deeper = folders.subList(1, folders.size()).stream()
                .map(folder -> folder.resolve(given))
                .filter(Files::isRegularFile)
                .toList();
        return deeper.size() == 1 ? deeper.get(0) : root.resolve(given);
    }

    private static Path absolute(Path path) {
        return path.toAbsolutePath().normalize();
    }

    /** True if at least one of the files is there. */
    boolean anyThere() {
        return files.values().stream().anyMatch(Files::isRegularFile);
    }

    /** Compares sizes and blocks. */
    List<ManifestFinding> check(int workers) throws IOException {
        List<ManifestFinding> findings = new ArrayList<>();
        if (!anyThere()) {
            foreign = true;
            return findings;
        }
        List<Callable<FileState>> tasks = new ArrayList<>();
        files.forEach((entry, path) -> tasks.add(() -> check(entry, path)));
        try (OrderedWork work = new OrderedWork(workers)) {
            work.inOrder(tasks.iterator(), state -> {
                findings.addAll(state.findings());
                foreign |= state.isOther();
                if (state.findings().isEmpty()) {
                    intact.add(state.path());
                }
            });
        }
        return findings;
    }

    /** True if files are missing or hold other things, as those of another layout do: no rot of the manifest's files. */
    boolean areOthers() {
        return foreign;
    }

    /** True if a file is, bit by bit, as the manifest has it. */
    boolean isIntact(Path file) {
        return intact.contains(absolute(file));
    }

    /** The name that the manifest has for a file. */
    Optional<String> name(Path file) {
        return Optional.ofNullable(names.get(absolute(file)));
    }

    private record FileState(Path path, List<ManifestFinding> findings, boolean isOther) {}

    private static FileState check(FileEntry entry, Path path) throws IOException {
        List<ManifestFinding> findings = new ArrayList<>();
        if (!Files.isRegularFile(path)) {
            findings.add(ManifestFinding.ofFile(Code.FILE_MISSING, entry.path(), entry.path() + " is missing"));
            return new FileState(path, findings, true);
        }
        try (FilePool pool = new FilePool()) {
            ByteSource file = pool.file(path);
            boolean resized = file.size() != entry.size();
            if (resized) {
                findings.add(ManifestFinding.ofFile(
                        Code.FILE_SIZE,
                        entry.path(),
                        entry.path() + " is " + file.size() + " bytes long, but was " + entry.size()));
            }
            // Of a file that was cut or has grown, the blocks that are whole as they were.
            long whole =
                    file.size() >= entry.size() ? entry.size() : file.size() / entry.blockSize() * entry.blockSize();
            int[] sums = FileEntry.sums(file, 0, whole, entry.blockSize());
            int other = 0;
            int changed;
            for (int block = 0; block < sums.length; block = changed) {
                changed = block + 1;
                if (sums[block] == entry.sums()[block]) {
                    continue;
                }
                // Blocks that follow each other are one range.
                while (changed < sums.length && sums[changed] != entry.sums()[changed]) {
                    changed++;
                }
                other += changed - block;
                findings.add(range(entry, block * entry.blockSize(), changed * entry.blockSize()));
            }
            // What was cut or has grown keeps its beginning.
            return new FileState(path, findings, resized && other > sums.length / 2);
        }
    }

    private static ManifestFinding range(FileEntry entry, long offset, long end) {
        long length = Math.min(end, entry.size()) - offset;
        String message = "%s: bytes %d to %d changed".formatted(entry.path(), offset, offset + length - 1);
        return new ManifestFinding(Code.FILE_BLOCK, "", entry.path(), offset, length, message);
    }
}
