package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpMetadata.DcpDType;
import dev.shardsmith.formats.dcp.DcpMetadata.DcpOrigin;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.ArrayList;
import java.util.Arrays;
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

    /** The box [offsets, offsets + sizes) of a tensor. */
    record Chunk(long[] offsets, long[] sizes) {}

    /** Where an item lies. */
    record Place(String path, long offset, long length, List<String> transforms) {}

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
    final List<String> names = new ArrayList<>();
    final Map<String, Integer> ids = new HashMap<>();
    final List<DcpDType> dtypes = new ArrayList<>();
    final Longs entries = new Longs();
    final Longs geometry = new Longs();
    final Longs rows = new Longs();
    final Map<String, Integer> files = new LinkedHashMap<>();
    final Map<List<String>, Integer> transforms = new LinkedHashMap<>();
    final Map<String, List<PyValue>> plannerPaths = new HashMap<>();
    final Map<String, Shape> originalShapes = new LinkedHashMap<>();
    final List<DcpFinding> findings = new ArrayList<>();
    DcpOrigin origin = new DcpOrigin("", false);

    // Places whose tensor was not seen yet, or all of them until finish(): names, and per place index of the box, its
    // rank
    // or -1, file, offset, length, transforms, position among the chunks.
    private final List<String> placed = new ArrayList<>();
    private final Longs places = new Longs();
    private static final int PLACE_FIELDS = 7;

    private final Map<String, DcpDType> dtypeNames = new HashMap<>();
    private final Map<PyValue, PyValue> pathParts = new HashMap<>();

    DcpMetadataBuilder(String source) {
        this.source = source;
        transforms.put(List.of(), 0);
    }

    void tensor(String name, String dtype, long[] shape, List<Chunk> chunks) throws CheckpointException {
        checkShape(name, shape);
        DcpDType type = dtypeNames.computeIfAbsent(
                dtype, torch -> new DcpDType(DType.ofTorchName(torch).orElse(null), torch));
        int firstRow = rows.size() / ROW_FIELDS;
        for (Chunk chunk : chunks) {
            checkChunk(name, shape, chunk);
            int box = geometry.add(chunk.offsets());
            geometry.add(chunk.sizes());
            rows.add(box, DcpMetadata.NO_FILE, 0, 0, 0);
        }
        entry(name, type, geometry.add(shape), shape.length, firstRow, chunks.size());
    }

    void object(String name) throws CheckpointException {
        int row = rows.add(0, DcpMetadata.NO_FILE, 0, 0, 0) / ROW_FIELDS;
        entry(name, null, 0, 0, row, 1);
    }

    /** The place of a tensor's chunk at {@code offsets}, or of an object if that is empty. */
    void place(String name, Optional<long[]> offsets, long position, Place place) throws CheckpointException {
        checkPath(name, place.path());
        if (place.offset() < 0 || place.length() < 0) {
            throw malformed(name, "the item lies at byte " + place.offset() + " and has " + place.length() + " bytes");
        }
        int file = files.computeIfAbsent(place.path(), path -> files.size());
        int transform = transforms.computeIfAbsent(place.transforms(), list -> transforms.size());
        int box = offsets.isPresent() ? geometry.add(offsets.get()) : 0;
        int rank = offsets.isPresent() ? offsets.get().length : -1;
        placed.add(name);
        places.add(box, rank, file, place.offset(), place.length(), transform, position);
    }

    void plannerPath(String name, List<PyValue> path) {
        // A million paths have a few hundred different keys.
        PyValue[] shared = path.toArray(PyValue[]::new);
        for (int i = 0; i < shared.length; i++) {
            PyValue known = pathParts.putIfAbsent(shared[i], shared[i]);
            shared[i] = known == null ? shared[i] : known;
        }
        plannerPaths.put(name, List.of(shared));
    }

    void originalShape(String name, long[] shape) throws CheckpointException {
        checkShape(name, shape);
        originalShapes.put(name, Shape.of(shape));
    }

    DcpMetadata finish() {
        Map<Integer, Map<Box, Integer>> manyChunks = new HashMap<>();
        for (int i = 0; i < placed.size(); i++) {
            int at = i * PLACE_FIELDS;
            Integer entry = ids.get(placed.get(i));
            int row = entry == null ? -1 : rowOf(entry, at, manyChunks);
            if (row < 0) {
                finding(
                        DcpFinding.Code.UNUSED_DATA,
                        placed.get(i),
                        "a place in " + "a data file is given for a chunk of " + placed.get(i)
                                + " that does not exist");
                continue;
            }
            for (int field = 1; field < ROW_FIELDS; field++) {
                rows.set(row * ROW_FIELDS + field, places.get(at + 1 + field));
            }
        }
        geometry.trim();
        rows.trim();
        entries.trim();
        return new DcpMetadata(this);
    }

    private int rowOf(int entry, int place, Map<Integer, Map<Box, Integer>> manyChunks) {
        int first = (int) entries.get(entry * ENTRY_FIELDS + 2);
        int count = (int) entries.get(entry * ENTRY_FIELDS + 3);
        int rank = (int) entries.get(entry * ENTRY_FIELDS + 1);
        if (dtypes.get(entry) == null) {
            return first;
        }
        int placeRank = (int) places.get(place + 1);
        if (placeRank < 0 && rank == 0) {
            // Of a tensor without dimensions the offsets may be left out.
            return count > 0 ? first : -1;
        }
        if (placeRank != rank) {
            return -1;
        }
        long[] offsets = geometry.copy((int) places.get(place), rank);
        long hint = places.get(place + 6);
        if (hint >= 0 && hint < count && isAt(first + (int) hint, offsets) && !isEmpty(first + (int) hint, rank)) {
            return first + (int) hint;
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
        if (ids.putIfAbsent(name, names.size()) != null) {
            throw malformed(name, "two entries have this name");
        }
        names.add(name);
        dtypes.add(dtype);
        entries.add(shape, rank, firstRow, rowCount);
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

    private void checkChunk(String name, long[] shape, Chunk chunk) throws CheckpointException {
        long[] offsets = chunk.offsets();
        long[] sizes = chunk.sizes();
        boolean inside = offsets.length == shape.length && sizes.length == shape.length;
        for (int dim = 0; inside && dim < shape.length; dim++) {
            inside = offsets[dim] >= 0 && sizes[dim] >= 0 && offsets[dim] <= shape[dim] - sizes[dim];
        }
        if (!inside) {
            throw malformed(
                    name,
                    "the chunk at " + Arrays.toString(offsets) + " of sizes " + Arrays.toString(sizes)
                            + " does not lie inside the shape " + Arrays.toString(shape));
        }
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

    private void finding(DcpFinding.Code code, String subject, String message) {
        if (findings.size() < MAX_FINDINGS) {
            findings.add(new DcpFinding(code, subject, message));
        }
    }

    private CheckpointException malformed(String name, String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, source + ", entry " + name, problem);
    }
}
