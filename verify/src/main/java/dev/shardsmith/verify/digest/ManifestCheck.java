package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.ManifestFinding.Code;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;

/**
 * Compares a checkpoint with a manifest and says what rotted, to the block.
 *
 * <p>A manifest serves for the same model in another layout too, whose files are others though some may have the same names:
 * there the tensors alone are checked, and their copies on other ranks.
 */
public final class ManifestCheck {
    /** Files that a message names. */
    private static final int MOST_FILES = 4;

    private final CheckpointManifest manifest;
    private final ManifestFiles files;

    private ManifestCheck(CheckpointManifest manifest, ManifestFiles files) {
        this.manifest = manifest;
        this.files = files;
    }

    /** A check of the checkpoint at {@code root}. */
    public static ManifestCheck of(CheckpointManifest manifest, Path root) throws IOException {
        return new ManifestCheck(manifest, ManifestFiles.of(manifest, root));
    }

    /** Checks sizes and blocks of the files. Needs no readable checkpoint. */
    public List<ManifestFinding> checkFiles(int workers) throws IOException {
        return files.check(workers);
    }

    /** True if {@link #checkFiles} found none of the manifest's files, or other ones of their names. */
    public boolean hasOtherFiles() {
        return files.areOthers();
    }

    /**
     * What is wrong with a checkpoint that could be opened. Other files than the manifest's are nothing wrong as long as the
     * tensors are the same.
     */
    public List<ManifestFinding> together(List<ManifestFinding> ofFiles, List<ManifestFinding> ofTensors) {
        List<ManifestFinding> all = new ArrayList<>();
        for (ManifestFinding finding : ofFiles) {
            boolean lost = finding.code() == Code.FILE_MISSING && !ofTensors.isEmpty();
            if (lost || !files.areOthers()) {
                all.add(finding);
            }
        }
        all.addAll(ofTensors);
        return all;
    }

    /** Checks every tensor and its copies, and names the tensors in the blocks that {@code blocks} tells of. */
    public List<ManifestFinding> checkTensors(
            ModelView view, List<ManifestFinding> blocks, int workers, LongConsumer progress) throws IOException {
        Map<String, TensorEntry> found = new LinkedHashMap<>();
        CheckpointManifest.tensors(view, workers, progress).forEach(entry -> found.put(entry.name(), entry));
        Map<String, List<ManifestFinding>> byFile = new HashMap<>();
        for (ManifestFinding block : blocks) {
            if (block.code() == Code.FILE_BLOCK && !files.areOthers()) {
                byFile.computeIfAbsent(block.file(), none -> new ArrayList<>()).add(block);
            }
        }
        List<LogicalTensor> right = new ArrayList<>();
        List<ManifestFinding> findings = new ArrayList<>();
        for (TensorEntry expected : manifest.tensors()) {
            TensorEntry actual = found.remove(expected.name());
            if (actual == null) {
                findings.add(ManifestFinding.ofTensor(
                        Code.TENSOR_MISSING, expected.name(), expected.name() + " is missing"));
            } else {
                Optional<ManifestFinding> problem = compare(expected, actual);
                if (problem.isPresent()) {
                    findings.add(place(problem.get(), view, byFile));
                } else {
                    right.add(view.tensors().get(expected.name()));
                }
            }
        }
        for (String name : found.keySet()) {
            findings.add(ManifestFinding.ofTensor(Code.TENSOR_EXTRA, name, name + " is not in the manifest"));
        }
        // Copies in files that are as they were are so too, whether they are equal or not.
        for (UnequalCopy copy : UnequalCopy.of(right, this::mayHaveChanged, workers)) {
            findings.add(finding(copy, view));
        }
        return findings;
    }

    private boolean mayHaveChanged(StoredTensor copy) {
        return copy.source()
                .inFile()
                .map(range -> !files.isIntact(range.file()))
                .orElse(true);
    }

    private ManifestFinding finding(UnequalCopy copy, ModelView view) {
        String file = copy.file().map(path -> name(path, view)).orElse("");
        String message = "the copy of %s %s in %s has other elements, the first at byte %d"
                .formatted(copy.tensor(), copy.part(), file, copy.offset());
        return new ManifestFinding(Code.TENSOR_COPY, copy.tensor(), file, copy.offset(), copy.length(), message);
    }

    private String name(Path file, ModelView view) {
        return files.name(file).orElseGet(() -> CheckpointManifest.relative(view.path(), file));
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
    private ManifestFinding place(ManifestFinding finding, ModelView view, Map<String, List<ManifestFinding>> blocks)
            throws IOException {
        Optional<ManifestFinding> damaged = Optional.empty();
        long first = Long.MAX_VALUE;
        long end = 0;
        Set<String> holders = new LinkedHashSet<>();
        for (Piece piece : view.tensors().get(finding.tensor()).pieces()) {
            Optional<ByteSource.FileRange> range = piece.data().source().inFile();
            if (range.isEmpty()) {
                continue;
            }
            long from = range.get().offset() + piece.data().offset();
            long to = range.get().offset() + piece.data().endOffset();
            String file = name(range.get().file(), view);
            holders.add(file);
            for (ManifestFinding block : blocks.getOrDefault(file, List.of())) {
                boolean touched = from < block.offset() + block.length() && to > block.offset();
                if (touched && (damaged.isEmpty() || damaged.get() == block)) {
                    damaged = Optional.of(block);
                    first = Math.min(first, Math.max(from, block.offset()));
                    end = Math.max(end, Math.min(to, block.offset() + block.length()));
                }
            }
        }
        if (damaged.isEmpty()) {
            return holders.isEmpty() ? finding : within(finding, holders);
        }
        String file = damaged.get().file();
        String message = "%s changed in bytes %d to %d of %s".formatted(finding.tensor(), first, end - 1, file);
        return new ManifestFinding(finding.code(), finding.tensor(), file, first, end - first, message);
    }

    /** Without sums of blocks, the files that hold the tensor are all that can be said. */
    private static ManifestFinding within(ManifestFinding finding, Set<String> holders) {
        String named = holders.stream().limit(MOST_FILES).collect(Collectors.joining(", "));
        String more = holders.size() > MOST_FILES ? " and %d more".formatted(holders.size() - MOST_FILES) : "";
        String file = holders.size() == 1 ? holders.iterator().next() : "";
        String message = finding.message() + "; it lies in " + named + more;
        return new ManifestFinding(finding.code(), finding.tensor(), file, 0, 0, message);
    }
}
