package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.ManifestFinding.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;

/**
 * Compares a checkpoint with a manifest and says what rotted, to the block.
 *
 * <p>Files are checked only where the checkpoint has files of the manifest's names: a manifest serves for the same model in
 * another layout too, where the tensors alone can be checked.
 */
public final class ManifestCheck {
    private final CheckpointManifest manifest;
    private final Path root;

    /** A check of the checkpoint at {@code root}. */
    public ManifestCheck(CheckpointManifest manifest, Path root) {
        this.manifest = manifest;
        this.root = root;
    }

    private Path resolve(FileEntry entry) {
        Path folder = Files.isDirectory(root) ? root : root.toAbsolutePath().getParent();
        Path file = folder.resolve(entry.path()).normalize();
        // A manifest is an input like any other: it shall not make us read elsewhere.
        return file.startsWith(folder.normalize()) ? file : folder.resolve(file.getFileName());
    }

    /** True if at least one of the manifest's files is there, so that the files can be checked. */
    public boolean isAboutFiles() {
        return manifest.files().stream().anyMatch(entry -> Files.isRegularFile(resolve(entry)));
    }

    /** Checks sizes and blocks of the files. Needs no readable checkpoint. */
    public List<ManifestFinding> checkFiles(int workers) throws IOException {
        List<ManifestFinding> findings = new ArrayList<>();
        if (!isAboutFiles()) {
            return findings;
        }
        List<Callable<List<ManifestFinding>>> tasks = new ArrayList<>();
        for (FileEntry entry : manifest.files()) {
            tasks.add(() -> check(entry));
        }
        try (OrderedWork work = new OrderedWork(workers)) {
            work.inOrder(tasks.iterator(), findings::addAll);
        }
        return findings;
    }

    private List<ManifestFinding> check(FileEntry entry) throws IOException {
        List<ManifestFinding> findings = new ArrayList<>();
        Path path = resolve(entry);
        if (!Files.isRegularFile(path)) {
            findings.add(ManifestFinding.ofFile(Code.FILE_MISSING, entry.path(), entry.path() + " is missing"));
            return findings;
        }
        try (FilePool pool = new FilePool()) {
            ByteSource file = pool.file(path);
            if (file.size() != entry.size()) {
                findings.add(ManifestFinding.ofFile(
                        Code.FILE_SIZE,
                        entry.path(),
                        entry.path() + " is " + file.size() + " bytes long, but was " + entry.size()));
            }
            // Of a file that was cut or has grown, the blocks that are whole as they were.
            long whole =
                    file.size() >= entry.size() ? entry.size() : file.size() / entry.blockSize() * entry.blockSize();
            int[] sums = FileEntry.sums(file, 0, whole, entry.blockSize());
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
                findings.add(range(entry, block * entry.blockSize(), changed * entry.blockSize()));
            }
        }
        return findings;
    }

    private static ManifestFinding range(FileEntry entry, long offset, long end) {
        long length = Math.min(end, entry.size()) - offset;
        String message = "%s: bytes %d to %d changed".formatted(entry.path(), offset, offset + length - 1);
        return new ManifestFinding(Code.FILE_BLOCK, "", entry.path(), offset, length, message);
    }

    /** Checks every tensor, and names the tensors in the blocks that {@code blocks} tells of. */
    public List<ManifestFinding> checkTensors(
            ModelView view, List<ManifestFinding> blocks, int workers, LongConsumer progress) throws IOException {
        Map<String, TensorEntry> found = new LinkedHashMap<>();
        CheckpointManifest.tensors(view, workers, progress).forEach(entry -> found.put(entry.name(), entry));
        Map<Path, List<ManifestFinding>> byFile = new HashMap<>();
        for (ManifestFinding block : blocks) {
            if (block.code() == Code.FILE_BLOCK) {
                byFile.computeIfAbsent(absolute(block.file()), none -> new ArrayList<>())
                        .add(block);
            }
        }
        List<ManifestFinding> findings = new ArrayList<>();
        for (TensorEntry expected : manifest.tensors()) {
            TensorEntry actual = found.remove(expected.name());
            if (actual == null) {
                findings.add(ManifestFinding.ofTensor(
                        Code.TENSOR_MISSING, expected.name(), expected.name() + " is missing"));
            } else {
                Optional<ManifestFinding> problem = compare(expected, actual);
                if (problem.isPresent()) {
                    findings.add(place(problem.get(), view.tensors().get(expected.name()), byFile));
                }
            }
        }
        for (String name : found.keySet()) {
            findings.add(ManifestFinding.ofTensor(Code.TENSOR_EXTRA, name, name + " is not in the manifest"));
        }
        return findings;
    }

    private static Optional<ManifestFinding> compare(TensorEntry expected, TensorEntry actual) {
        String name = expected.name();
        if (!expected.shape().equals(actual.shape())) {
            String text = name + " has shape " + actual.shape() + ", but had " + expected.shape();
            return Optional.of(ManifestFinding.ofTensor(Code.TENSOR_SHAPE, name, text));
        }
        if (!expected.dtype().equals(actual.dtype())) {
            String text = name + " has type " + actual.dtype() + ", but had " + expected.dtype();
            return Optional.of(ManifestFinding.ofTensor(Code.TENSOR_DTYPE, name, text));
        }
        return expected.sha256().equals(actual.sha256())
                ? Optional.empty()
                : Optional.of(ManifestFinding.ofTensor(Code.TENSOR_DIGEST, name, name + " has other elements"));
    }

    /** The same finding with the first changed block that the tensor lies in, and the tensor's bytes in it. */
    private ManifestFinding place(
            ManifestFinding finding, LogicalTensor tensor, Map<Path, List<ManifestFinding>> blocks) throws IOException {
        Optional<ManifestFinding> damaged = Optional.empty();
        long first = Long.MAX_VALUE;
        long end = 0;
        for (Piece piece : tensor.pieces()) {
            Optional<ByteSource.FileRange> range = piece.data().source().inFile();
            if (range.isEmpty()) {
                continue;
            }
            long from = range.get().offset() + piece.data().offset();
            long to = range.get().offset() + piece.data().endOffset();
            for (ManifestFinding block :
                    blocks.getOrDefault(range.get().file().toAbsolutePath().normalize(), List.of())) {
                boolean touched = from < block.offset() + block.length() && to > block.offset();
                if (touched && (damaged.isEmpty() || damaged.get() == block)) {
                    damaged = Optional.of(block);
                    first = Math.min(first, Math.max(from, block.offset()));
                    end = Math.max(end, Math.min(to, block.offset() + block.length()));
                }
            }
        }
        if (damaged.isEmpty()) {
            return finding;
        }
        String file = damaged.get().file();
        String message = "%s changed in bytes %d to %d of %s".formatted(finding.tensor(), first, end - 1, file);
        return new ManifestFinding(finding.code(), finding.tensor(), file, first, end - first, message);
    }

    private Path absolute(String path) {
        Path folder = Files.isDirectory(root) ? root : root.toAbsolutePath().getParent();
        return folder.resolve(path).toAbsolutePath().normalize();
    }
}
