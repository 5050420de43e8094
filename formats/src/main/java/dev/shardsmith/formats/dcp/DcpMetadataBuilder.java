package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.NameIndex;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpMetadata.DcpDType;
import dev.shardsmith.formats.dcp.DcpMetadata.DcpOrigin;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Collects the tensors, objects and places of {@code .metadata} in any order and joins them. */
final class DcpMetadataBuilder {
    /** Per entry: index of the shape, rank, first row, number of rows. */
    static final int ENTRY_FIELDS = 4;

    /** Per row: index of the box, file, offset, length, transforms. */
    static final int ROW_FIELDS = 5;

    /** More dimensions than any framework makes. */
    private static final int MAX_RANK = 64;

    /** Above this many chunks of one tensor a place is looked up by hash. */
    private static final int FEW_CHUNKS = 16;

    private static final int MAX_FINDINGS = 1000;

    /** Where an item lies. */
    record Place(String path, long offset, long length, List<String> transforms) {}

    private record Pending(String name, Optional<long[]> offsets, long position, Place place) {}

    private record Box(long[] offsets) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Box that && Arrays.equals(offsets, that.offsets);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(offsets);
        }
    }

    final String source;
    final NameIndex names = new NameIndex();
    final List<DcpDType> dtypes = new ArrayList<>();
    final Longs entries = new Longs();
    final Longs geometry = new Longs();
    final Longs rows = new Longs();
    final Map<String, Integer> files = new LinkedHashMap<>();
    final Map<List<String>, Integer> transforms = new LinkedHashMap<>();
    /** Paths that are not the name cut at its dots. */
    final Map<String, List<PyValue>> plannerPaths = new HashMap<>();
    /** Entries whose path is the name cut at its dots, which most are. */
    final BitSet dottedPaths = new BitSet();

    final Map<String, Shape> originalShapes = new LinkedHashMap<>();
    final List<DcpFinding> findings = new ArrayList<>();
    DcpOrigin origin = new DcpOrigin("", false);

    /** By hash code where shapes lie, plus 1; each was checked. */
    private final int[] recentShapes = new int[1 << 10];

    /** By hash code where chunks lie, plus 1. */
    private final int[] recentChunks = new int[1 << 10];

    /** Places whose entry was not seen yet. */
    private final List<Pending> pending = new ArrayList<>();

    private int lastFound;

    /** The file of the place before: most have the same. */
    private String lastPath;

    private int lastFile;

    private final Map<Integer, Map<Box, Integer>> manyChunks = new HashMap<>();
    private final Map<String, DcpDType> dtypeNames = new HashMap<>();

    DcpMetadataBuilder(String source) {
        this.source = source;
        transforms.put(List.of(), 0);
    }

    /** Begins a tensor; its chunks follow. The array is not kept. */
    void tensor(String name, String dtype, long[] shape) throws CheckpointException {
        int at = known(recentShapes, shape);
        if (at < 0) {
            checkShape(name, shape);
            at = add(recentShapes, shape);
        }
        DcpDType type = dtypeNames.get(dtype);
        if (type == null) {
            type = new DcpDType(DType.ofTorchName(dtype).orElse(null), dtype);
            dtypeNames.put(dtype, type);
        }
        entry(name, type, at, shape.length, rows.size() / ROW_FIELDS, 0);
    }

    /** Adds the chunk [offsets, offsets + sizes) to the tensor that was begun last. */
    void chunk(long[] offsets, long[] sizes) throws CheckpointException {
        if (offsets.length != sizes.length) {
            throw outside(names.size() - 1, offsets, sizes);
        }
        long[] both = Arrays.copyOf(offsets, 2 * offsets.length);
        System.arraycopy(sizes, 0, both, offsets.length, sizes.length);
        chunk(both);
    }

    /** Adds a chunk to the tensor that was begun last: offsets, then sizes. The array is not kept. */
    void chunk(long[] offsetsAndSizes) throws CheckpointException {
        int entry = names.size() - 1;
        int at = entry * ENTRY_FIELDS;
        checkChunk(entry, offsetsAndSizes);
        int box = known(recentChunks, offsetsAndSizes);
        row(box < 0 ? add(recentChunks, offsetsAndSizes) : box);
        entries.set(at + 3, entries.get(at + 3) + 1);
    }

    /** Where these numbers lie already, if they are among those that came lately; else -1. Few sizes are the rule. */
    private int known(int[] recent, long[] numbers) {
        int at = recent[Arrays.hashCode(numbers) & recent.length - 1] - 1;
        return at >= 0 && at <= geometry.size() - numbers.length && geometry.equalAt(at, numbers) ? at : -1;
    }

    private int add(int[] recent, long[] numbers) {
        int at = geometry.add(numbers);
        recent[Arrays.hashCode(numbers) & recent.length - 1] = at + 1;
        return at;
    }

    void object(String name) throws CheckpointException {
        entry(name, null, 0, 0, row(0), 1);
    }

    /** Adds the row of a chunk whose place is not known yet. */
    private int row(int box) {
        int at = rows.extend(ROW_FIELDS);
        rows.set(at, box);
        rows.set(at + 1, DcpMetadata.NO_FILE);
        return at / ROW_FIELDS;
    }

    /** The place of a tensor's chunk at {@code offsets}, or of an object if that is empty. The array is not kept. */
    void place(String name, Optional<long[]> offsets, long position, Place place) throws CheckpointException {
        if (!place.path().equals(lastPath) && !files.containsKey(place.path())) {
            checkPath(name, place.path());
        }
        if (place.offset() < 0 || place.length() < 0) {
            throw malformed(name, "the item lies at byte " + place.offset() + " and has " + place.length() + " bytes");
        }
        int entry = find(name);
        if (entry < 0) {
            pending.add(new Pending(name, offsets.map(long[]::clone), position, place));
        } else {
            join(entry, offsets, position, place);
        }
    }

    /** The number of an entry, or -1. Paths and places mostly come in the order of the entries: no need to look all over the table. */
    private int find(String name) {
        for (int guess = lastFound; guess <= lastFound + 1 && guess < names.size(); guess++) {
            if (names.get(guess).equals(name)) {
                lastFound = guess;
                return guess;
            }
        }
        int found = names.find(name);
        lastFound = Math.max(0, found);
        return found;
    }

    /** Notes that the path of an entry is its name, cut at its dots; false if there is no such entry yet. */
    boolean dottedPath(String name) {
        int entry = find(name);
        if (entry >= 0) {
            dottedPaths.set(entry);
        }
        return entry >= 0;
    }

    void plannerPath(String name, List<PyValue> path) {
        int entry = find(name);
        if (entry >= 0 && isDotted(name, path)) {
            dottedPaths.set(entry);
        } else {
            plannerPaths.put(name, path);
        }
    }

    private static boolean isDotted(String name, List<PyValue> path) {
        int at = 0;
        for (PyValue part : path) {
            if (!(part instanceof PyStr key)
                    || key.value().indexOf('.') >= 0
                    || !name.startsWith(key.value(), at)
                    || (at + key.value().length() < name.length()
                            && name.charAt(at + key.value().length()) != '.')) {
                return false;
            }
            at += key.value().length() + 1;
        }
        return at == name.length() + 1;
    }

    void originalShape(String name, long[] shape) throws CheckpointException {
        checkShape(name, shape);
        originalShapes.put(name, Shape.of(shape));
    }

    DcpMetadata finish() {
        for (Pending later : pending) {
            int entry = find(later.name());
            if (entry < 0) {
                unused(later.name());
            } else {
                join(entry, later.offsets(), later.position(), later.place());
            }
        }
        return new DcpMetadata(this);
    }

    private void join(int entry, Optional<long[]> offsets, long position, Place place) {
        int row = rowOf(entry, offsets, position);
        if (row < 0) {
            unused(names.get(entry));
            return;
        }
        int at = row * ROW_FIELDS;
        rows.set(at + 1, fileOf(place.path()));
        rows.set(at + 2, place.offset());
        rows.set(at + 3, place.length());
        rows.set(
                at + 4,
                place.transforms().isEmpty()
                        ? 0
                        : transforms.computeIfAbsent(place.transforms(), list -> transforms.size()));
    }

    private int fileOf(String path) {
        if (!path.equals(lastPath)) {
            lastFile = files.computeIfAbsent(path, file -> files.size());
            lastPath = path;
        }
        return lastFile;
    }

    private void unused(String name) {
        if (findings.size() < MAX_FINDINGS) {
            String message = "a place in a data file is given for a chunk of " + name + " that does not exist";
            findings.add(new DcpFinding(DcpFinding.Code.UNUSED_DATA, name, message));
        }
    }

    /** The row that a place belongs to, or -1. */
    private int rowOf(int entry, Optional<long[]> given, long position) {
        int first = (int) entries.get(entry * ENTRY_FIELDS + 2);
        int count = (int) entries.get(entry * ENTRY_FIELDS + 3);
        int rank = (int) entries.get(entry * ENTRY_FIELDS + 1);
        if (dtypes.get(entry) == null) {
            return first;
        }
        // Of a tensor without dimensions the offsets may be left out.
        long[] offsets = given.orElseGet(() -> new long[0]);
        if (offsets.length != rank) {
            return -1;
        }
        if (position >= 0 && position < count) {
            int hinted = first + (int) position;
            if (isAt(hinted, offsets) && !isEmpty(hinted, rank)) {
                return hinted;
            }
        }
        if (count > FEW_CHUNKS) {
            return manyChunks
                    .computeIfAbsent(entry, id -> index(first, count, rank))
                    .getOrDefault(new Box(offsets), -1);
        }
        int found = -1;
        for (int row = first; row < first + count; row++) {
            // Of an empty chunk and a real one at the same place the real one has data.
            if (isAt(row, offsets) && (found < 0 || isEmpty(found, rank))) {
                found = row;
            }
        }
        return found;
    }

    private Map<Box, Integer> index(int first, int count, int rank) {
        Map<Box, Integer> index = new HashMap<>(count * 4 / 3 + 1);
        for (int row = first; row < first + count; row++) {
            int candidate = row;
            Box box = new Box(geometry.copy((int) rows.get(row * ROW_FIELDS), rank));
            index.merge(box, row, (earlier, later) -> isEmpty(earlier, rank) ? candidate : earlier);
        }
        return index;
    }

    private boolean isAt(int row, long[] offsets) {
        return geometry.equalAt((int) rows.get(row * ROW_FIELDS), offsets);
    }

    private boolean isEmpty(int row, int rank) {
        int sizes = (int) rows.get(row * ROW_FIELDS) + rank;
        for (int dim = 0; dim < rank; dim++) {
            if (geometry.get(sizes + dim) == 0) {
                return true;
            }
        }
        return false;
    }

    private void entry(String name, DcpDType dtype, int shape, int rank, int firstRow, int rowCount)
            throws CheckpointException {
        if (!names.add(name)) {
            throw malformed(name, "two entries have this name");
        }
        dtypes.add(dtype);
        int at = entries.extend(ENTRY_FIELDS);
        entries.set(at, shape);
        entries.set(at + 1, rank);
        entries.set(at + 2, firstRow);
        entries.set(at + 3, rowCount);
    }

    private void checkShape(String name, long[] shape) throws CheckpointException {
        if (shape.length > MAX_RANK) {
            throw malformed(name, "a tensor of " + shape.length + " dimensions");
        }
        try {
            Shape.of(shape).rowMajorStrides();
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw malformed(name, "the shape " + Arrays.toString(shape) + " is negative or overflows")
                    .causedBy(e);
        }
    }

    private void checkChunk(int entry, long[] chunk) throws CheckpointException {
        int rank = (int) entries.get(entry * ENTRY_FIELDS + 1);
        int shape = (int) entries.get(entry * ENTRY_FIELDS);
        boolean inside = chunk.length == 2 * rank;
        for (int dim = 0; inside && dim < rank; dim++) {
            long offset = chunk[dim];
            long size = chunk[rank + dim];
            inside = offset >= 0 && size >= 0 && offset <= geometry.get(shape + dim) - size;
        }
        if (!inside) {
            int half = chunk.length / 2;
            throw outside(entry, Arrays.copyOf(chunk, half), Arrays.copyOfRange(chunk, half, chunk.length));
        }
    }

    private CheckpointException outside(int entry, long[] offsets, long[] sizes) {
        long[] shape =
                geometry.copy((int) entries.get(entry * ENTRY_FIELDS), (int) entries.get(entry * ENTRY_FIELDS + 1));
        return malformed(
                names.get(entry),
                "the chunk at " + Arrays.toString(offsets) + " of sizes " + Arrays.toString(sizes)
                        + " does not lie inside the shape " + Arrays.toString(shape));
    }

    private void checkPath(String name, String path) throws CheckpointException {
        boolean inside = !path.isEmpty()
                && !path.startsWith("/")
                && path.indexOf('\\') < 0
                && path.indexOf('\0') < 0
                && !path.contains("://");
        for (String part : path.split("/", -1)) {
            inside &= !part.equals("..") && !part.isEmpty();
        }
        if (!inside) {
            throw malformed(name, "the data file '" + path + "' does not lie inside the checkpoint's folder");
        }
    }

    private CheckpointException malformed(String name, String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, source + ", entry " + name, problem);
    }
}
