package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.NameIndex;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What {@code .metadata} says, in columns.
 *
 * <p>An entry is a tensor or an object; its chunks are rows [{@link #firstRow}, + {@link #rowCount}). An object has one row
 * without geometry.
 */
final class DcpMetadata {
    /** Row of a chunk that no file holds. */
    static final int NO_FILE = -1;

    private final String source;
    private final NameIndex names;
    private final List<DcpDType> dtypes;
    private final Longs entries;
    private final Longs geometry;
    private final Longs rows;
    private final List<String> files;
    private final List<List<String>> transforms;
    private final Map<String, List<PyValue>> plannerPaths;
    private final BitSet dottedPaths;
    private final Map<String, Shape> originalShapes;
    private final List<DcpFinding> findings;
    private final DcpOrigin origin;
    /** Shapes that were asked for lately, by where they lie: many tensors share few. */
    private final KnownShape[] shapes = new KnownShape[1 << 10];

    DcpMetadata(DcpMetadataBuilder from) {
        this.source = from.source;
        this.names = from.names;
        this.dtypes = from.dtypes;
        this.entries = from.entries;
        this.geometry = from.geometry;
        this.rows = from.rows;
        this.files = List.copyOf(from.files.keySet());
        this.transforms = List.copyOf(from.transforms.keySet());
        this.plannerPaths = from.plannerPaths;
        this.dottedPaths = from.dottedPaths;
        this.originalShapes = from.originalShapes;
        this.findings = from.findings;
        this.origin = from.origin;
    }

    private record KnownShape(int at, Shape shape) {}

    /** An element type, or the name of one that is not known; both empty for an object. */
    record DcpDType(DType known, String name) {}

    /** What the file says about how it was made. */
    record DcpOrigin(String version, boolean hasPlannerData) {}

    String source() {
        return source;
    }

    int size() {
        return names.size();
    }

    /** The number of an entry, or -1. */
    int find(String name) {
        return names.find(name);
    }

    String name(int entry) {
        return names.get(entry);
    }

    boolean isTensor(int entry) {
        return dtypes.get(entry) != null;
    }

    DcpDType dtype(int entry) {
        return dtypes.get(entry);
    }

    int rank(int entry) {
        return (int) entries.get(entry * DcpMetadataBuilder.ENTRY_FIELDS + 1);
    }

    Shape shape(int entry) {
        int at = (int) entries.get(entry * DcpMetadataBuilder.ENTRY_FIELDS);
        int rank = rank(entry);
        int slot = at & shapes.length - 1;
        KnownShape known = shapes[slot];
        if (known == null || known.at() != at || known.shape().rank() != rank) {
            known = new KnownShape(at, Shape.of(geometry.copy(at, rank)));
            shapes[slot] = known;
        }
        return known.shape();
    }

    int firstRow(int entry) {
        return (int) entries.get(entry * DcpMetadataBuilder.ENTRY_FIELDS + 2);
    }

    int rowCount(int entry) {
        return (int) entries.get(entry * DcpMetadataBuilder.ENTRY_FIELDS + 3);
    }

    /** Offsets of the chunk of a row, one per dimension. */
    long[] offsets(int entry, int row) {
        int at = (int) rows.get(row * DcpMetadataBuilder.ROW_FIELDS);
        return geometry.copy(at, rank(entry));
    }

    /** Sizes of the chunk of a row, one per dimension. */
    long[] sizes(int entry, int row) {
        int at = (int) rows.get(row * DcpMetadataBuilder.ROW_FIELDS);
        return geometry.copy(at + rank(entry), rank(entry));
    }

    /** Offsets of the chunk of a row, then its sizes. */
    long[] box(int entry, int row) {
        int at = (int) rows.get(row * DcpMetadataBuilder.ROW_FIELDS);
        return geometry.copy(at, 2 * rank(entry));
    }

    /** Number of the file that holds the row's item, or {@link #NO_FILE}. */
    int file(int row) {
        return (int) rows.get(row * DcpMetadataBuilder.ROW_FIELDS + 1);
    }

    long itemOffset(int row) {
        return rows.get(row * DcpMetadataBuilder.ROW_FIELDS + 2);
    }

    /** Length of the row's item in bytes. */
    long itemLength(int row) {
        return rows.get(row * DcpMetadataBuilder.ROW_FIELDS + 3);
    }

    /** Names of the transforms to undo, in this order. */
    List<String> transforms(int row) {
        return transforms.get((int) rows.get(row * DcpMetadataBuilder.ROW_FIELDS + 4));
    }

    int rows() {
        return rows.size() / DcpMetadataBuilder.ROW_FIELDS;
    }

    /** Paths of the data files relative to the folder, checked to stay inside by name. */
    List<String> files() {
        return files;
    }

    /** The path of an entry in the nested state dict; empty if none is recorded. */
    List<PyValue> plannerPath(String name) {
        List<PyValue> path = plannerPaths.get(name);
        if (path != null) {
            return path;
        }
        int entry = names.find(name);
        return entry < 0 || !dottedPaths.get(entry)
                ? List.of()
                : Arrays.stream(name.split("\\.", -1)).<PyValue>map(PyStr::new).toList();
    }

    /** The path of an entry, if it leads through lists. */
    Optional<List<PyValue>> pathThroughLists(String name) {
        List<PyValue> path = plannerPaths.get(name);
        return path != null && path.stream().anyMatch(PyInt.class::isInstance) ? Optional.of(path) : Optional.empty();
    }

    /** Shapes of tensors that Megatron stored as flattened ranges, before it reformulated them. */
    Map<String, Shape> originalShapes() {
        return originalShapes;
    }

    List<DcpFinding> findings() {
        return findings;
    }

    DcpOrigin origin() {
        return origin;
    }
}
