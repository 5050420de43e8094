package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.dcp.DcpFinding.Code;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/** Checks of a whole distributed checkpoint that open no item. */
final class DcpCheck {
    private final DcpCheckpoint checkpoint;
    private final DcpMetadata metadata;
    private final List<DcpFinding> findings = new ArrayList<>();

    private DcpCheck(DcpCheckpoint checkpoint) {
        this.checkpoint = checkpoint;
        this.metadata = checkpoint.metadata();
    }

    static List<DcpFinding> of(DcpCheckpoint checkpoint) throws IOException {
        DcpCheck check = new DcpCheck(checkpoint);
        check.tensors();
        check.places();
        check.paths();
        check.findings.addAll(checkpoint.metadata().findings());
        return check.findings;
    }

    private void tensors() throws IOException {
        for (int entry = 0; entry < metadata.size(); entry++) {
            String name = metadata.name(entry);
            for (int row = metadata.firstRow(entry); row < metadata.firstRow(entry) + metadata.rowCount(entry); row++) {
                boolean empty = metadata.isTensor(entry)
                        && Arrays.stream(metadata.sizes(entry, row)).anyMatch(size -> size == 0);
                if (metadata.file(row) == DcpMetadata.NO_FILE && !empty) {
                    String what = metadata.isTensor(entry)
                            ? "the chunk at " + Arrays.toString(metadata.offsets(entry, row)) + " of " + name
                            : "the object " + name;
                    findings.add(new DcpFinding(Code.MISSING_DATA, name, what + " has no place in any data file"));
                }
            }
            if (metadata.isTensor(entry)) {
                DcpTensor tensor = new DcpTensor(checkpoint, entry);
                findings.addAll(tensor.checkCoverage());
                if (tensor.dtype().isEmpty()) {
                    findings.add(new DcpFinding(
                            Code.UNKNOWN_DTYPE, name, name + " has the unknown element type " + tensor.dtypeName()));
                }
                if (!tensor.isFlattened() && isFlattenedWithoutShape(tensor)) {
                    findings.add(
                            new DcpFinding(
                                    Code.MISSING_REFORMULATION,
                                    name,
                                    name
                                            + " seems to be stored as flattened ranges of a tensor whose shape the metadata lacks"));
                }
            }
        }
    }

    /** True for optimizer state with one dimension more, and as many elements, as the parameter it belongs to. */
    private boolean isFlattenedWithoutShape(DcpTensor tensor) {
        String[] parts = tensor.name().split("\\.", 4);
        if (parts.length < 4 || !parts[0].equals("optimizer") || !parts[1].equals("state")) {
            return false;
        }
        return checkpoint
                .tensor(parts[3])
                .filter(parameter -> tensor.shape().rank() == parameter.shape().rank() + 1)
                .filter(parameter ->
                        tensor.shape().elements() == parameter.shape().elements())
                .isPresent();
    }

    private void places() throws IOException {
        Map<Integer, List<Integer>> rowsOfFile = new HashMap<>();
        for (int row = 0; row < metadata.rows(); row++) {
            if (metadata.file(row) != DcpMetadata.NO_FILE) {
                rowsOfFile
                        .computeIfAbsent(metadata.file(row), file -> new ArrayList<>())
                        .add(row);
            }
        }
        for (int file = 0; file < metadata.files().size(); file++) {
            String name = metadata.files().get(file);
            Path path = checkpoint.folder().resolve(name);
            if (!Files.isRegularFile(path)) {
                findings.add(new DcpFinding(Code.MISSING_FILE, name, "the data file " + name + " is missing"));
                continue;
            }
            List<Integer> rows = rowsOfFile.getOrDefault(file, List.of());
            long size = Files.size(path);
            long needed = rows.stream()
                    .mapToLong(row -> {
                        long end = metadata.itemOffset(row) + metadata.itemLength(row);
                        return end < 0 ? Long.MAX_VALUE : end;
                    })
                    .max()
                    .orElse(0);
            if (needed > size) {
                findings.add(new DcpFinding(
                        Code.MISSING_FILE,
                        name,
                        "the data file " + name + " has " + size + " bytes, but its items need " + needed));
            }
            overlaps(name, rows);
        }
    }

    private void overlaps(String file, List<Integer> rows) {
        List<Integer> inOrder = new ArrayList<>(rows);
        inOrder.sort(Comparator.comparingLong(metadata::itemOffset).thenComparingLong(metadata::itemLength));
        for (int i = 1; i < inOrder.size(); i++) {
            int before = inOrder.get(i - 1);
            int row = inOrder.get(i);
            // All tensors of one piece of safetensors data have its beginning as their offset.
            boolean same = metadata.itemOffset(row) == metadata.itemOffset(before);
            if (!same && metadata.itemOffset(row) - metadata.itemOffset(before) < metadata.itemLength(before)) {
                findings.add(new DcpFinding(
                        Code.OVERLAPPING_ITEMS,
                        file,
                        "two items of " + file + " overlap at byte " + metadata.itemOffset(row)));
                return;
            }
        }
    }

    private void paths() {
        Set<List<PyValue>> leaves = new HashSet<>();
        Set<List<PyValue>> inner = new HashSet<>();
        IntStream.range(0, metadata.size()).mapToObj(metadata::name).forEach(name -> {
            List<PyValue> path = metadata.plannerPath(name);
            boolean valid = true;
            for (PyValue part : path) {
                valid &= part instanceof PyStr || (part instanceof PyInt index && isIndex(index));
            }
            if (!path.isEmpty() && (!valid || !leaves.add(path))) {
                findings.add(new DcpFinding(
                        Code.CONFLICTING_PATHS,
                        name,
                        "the path of " + name + " is doubled, or no path of keys and positions"));
            }
            for (int length = 1; length < path.size(); length++) {
                inner.add(path.subList(0, length));
            }
        });
        for (List<PyValue> leaf : leaves) {
            if (inner.contains(leaf)) {
                findings.add(new DcpFinding(
                        Code.CONFLICTING_PATHS, leaf.toString(), "a path of the state dict ends where others go on"));
            }
        }
    }

    /** A list cannot be longer than there are entries. */
    private boolean isIndex(PyInt index) {
        long value = index.asLong().orElse(-1);
        return value >= 0 && value < metadata.size();
    }
}
