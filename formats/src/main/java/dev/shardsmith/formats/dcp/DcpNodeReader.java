package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.dcp.DcpMetadataBuilder.Place;
import dev.shardsmith.formats.pickle.PickleDeclinedException;
import dev.shardsmith.formats.pickle.PickleLimits;
import dev.shardsmith.formats.pickle.PickleNodeConsumer;
import dev.shardsmith.formats.pickle.PickleNodeReader;
import dev.shardsmith.formats.pickle.PickleNodes;
import dev.shardsmith.formats.pickle.PickleNodes.Kind;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Reads {@code .metadata} without making objects of its millions of entries.
 *
 * <p>Entries of the one form that PyTorch writes go straight into columns. Any other entry is made into objects and given to {@link
 * DcpMetadataReader}, which understands or refuses it.
 */
final class DcpNodeReader implements PickleNodeConsumer {
    /** What the classes of entries are. */
    private enum Role {
        INDEX,
        TENSOR,
        BYTES,
        CHUNK,
        STORAGE_INFO,
        SIZE,
        WRITE_ITEM,
        OTHER
    }

    private final DcpMetadataReader objects;
    private final DcpMetadataBuilder builder;
    /** Roles by the numbers of classes. */
    private Role[] roles = new Role[16];

    /** An array for each length: shapes and places in a tensor. */
    private final long[][] sizes = new long[8][];

    /** One for chunks, whose two halves are looked for apart. */
    private final long[][] chunks = new long[16][];

    private DcpNodeReader(String source) {
        this.objects = new DcpMetadataReader(source);
        this.builder = objects.builder();
        Arrays.setAll(sizes, long[]::new);
        Arrays.setAll(chunks, long[]::new);
    }

    /** What a file says; empty if its pickle is of an unusual form. */
    static Optional<DcpMetadata> read(ByteSource source) throws IOException {
        DcpNodeReader reader = new DcpNodeReader(source.name());
        Optional<PyValue> root = PickleNodeReader.read(source, 0, PickleLimits.defaults(), reader);
        return root.isPresent() ? Optional.of(reader.objects.finish(root.get())) : Optional.empty();
    }

    @Override
    public boolean entries(PickleNodes nodes, long[] references, int from, int to)
            throws CheckpointException, PickleDeclinedException {
        for (int i = from; i < to; i += 2) {
            if (!isOurs(nodes, references[i], references[i + 1])) {
                return false;
            }
        }
        for (int i = from; i < to; i += 2) {
            consume(nodes, references[i], references[i + 1]);
        }
        return true;
    }

    @Override
    public boolean values(PickleNodes nodes, long[] references, int from, int to) {
        for (int i = from; i < to; i++) {
            if (!is(nodes, references[i], Role.WRITE_ITEM)) {
                return false;
            }
        }
        return true;
    }

    /** True for entries of the three large dicts; no other dict of the file has entries of these forms. */
    private boolean isOurs(PickleNodes nodes, long key, long value) {
        return switch (nodes.kind(key)) {
            case OBJECT -> is(nodes, key, Role.INDEX);
            case TEXT ->
                switch (nodes.kind(value)) {
                    case TUPLE -> nodes.size(value) > 0 && nodes.kind(nodes.item(value, 0)) == Kind.TEXT;
                    case OBJECT -> is(nodes, value, Role.TENSOR) || is(nodes, value, Role.BYTES);
                    case INTEGER, TEXT, LIST, DICT, CONSTANT -> false;
                };
            case INTEGER, TUPLE, LIST, DICT, CONSTANT -> false;
        };
    }

    private void consume(PickleNodes nodes, long key, long value) throws CheckpointException, PickleDeclinedException {
        boolean taken;
        if (nodes.kind(key) == Kind.OBJECT) {
            taken = place(nodes, key, value);
        } else if (nodes.kind(value) == Kind.TUPLE) {
            taken = path(nodes, key, value);
        } else {
            taken = is(nodes, value, Role.TENSOR) && tensor(nodes, key, value);
        }
        if (!taken) {
            objects.consume(new PyEntry(nodes.toValue(key), nodes.toValue(value)));
        }
    }

    /** A path that is the name of an entry, cut at its dots. */
    private boolean path(PickleNodes nodes, long key, long path) {
        String name = nodes.text(key);
        int at = 0;
        for (int i = 0; i < nodes.size(path); i++) {
            long part = nodes.item(path, i);
            if (nodes.kind(part) != Kind.TEXT || !nodes.isPartOf(part, name, at)) {
                return false;
            }
            at += nodes.textLength(part);
            if (at < name.length() && name.charAt(at) != '.') {
                return false;
            }
            at++;
        }
        return at == name.length() + 1 && builder.dottedPath(name);
    }

    private boolean tensor(PickleNodes nodes, long key, long value) throws CheckpointException {
        long state = nodes.state(value);
        if (nodes.kind(state) != Kind.DICT || nodes.size(state) != 3) {
            return false;
        }
        long properties = attribute(nodes, state, "properties");
        long list = attribute(nodes, state, "chunks");
        if (!isKind(nodes, properties, Kind.OBJECT) || !isKind(nodes, list, Kind.LIST)) {
            return false;
        }
        String dtype = dtype(nodes, properties);
        long[] shape = numbers(nodes, attribute(nodes, state, "size"), sizes, 1, 0);
        if (dtype == null || shape == null) {
            return false;
        }
        for (int i = 0; i < nodes.size(list); i++) {
            if (chunk(nodes, nodes.item(list, i)) == null) {
                return false;
            }
        }
        builder.tensor(nodes.text(key), dtype, shape);
        for (int i = 0; i < nodes.size(list); i++) {
            builder.chunk(chunk(nodes, nodes.item(list, i)));
        }
        return true;
    }

    /** Offsets and sizes; null if they are not in the usual form. */
    private long[] chunk(PickleNodes nodes, long chunk) {
        if (!is(nodes, chunk, Role.CHUNK)) {
            return null;
        }
        long state = nodes.state(chunk);
        if (nodes.kind(state) != Kind.DICT || nodes.size(state) != 2) {
            return null;
        }
        long[] offsets = numbers(nodes, attribute(nodes, state, "offsets"), chunks, 2, 0);
        long[] both = offsets == null
                ? null
                : numbers(nodes, attribute(nodes, state, "sizes"), chunks, 2, offsets.length / 2);
        return both == offsets ? both : null;
    }

    /** The name of the element type; null if it is not where it usually is. */
    private static String dtype(PickleNodes nodes, long properties) {
        long state = nodes.state(properties);
        return nodes.kind(state) == Kind.TUPLE
                        && nodes.size(state) > 0
                        && nodes.kind(nodes.item(state, 0)) == Kind.CONSTANT
                        && nodes.constant(nodes.item(state, 0)) instanceof PyGlobal global
                        && global.module().equals("torch")
                ? global.name()
                : null;
    }

    private boolean place(PickleNodes nodes, long key, long value) throws CheckpointException {
        long index = nodes.state(key);
        if (!is(nodes, value, Role.STORAGE_INFO) || nodes.kind(index) != Kind.DICT || nodes.size(index) != 3) {
            return false;
        }
        long name = attribute(nodes, index, "fqn");
        long[] offsets = numbers(nodes, attribute(nodes, index, "offset"), sizes, 1, 0);
        long position = attribute(nodes, index, "index");
        long info = nodes.state(value);
        boolean usual = isKind(nodes, name, Kind.TEXT)
                && offsets != null
                && (isKind(nodes, position, Kind.INTEGER) || position == PickleNodes.NONE)
                && nodes.kind(info) == Kind.DICT;
        // From 2.7 on with the names of transforms, of which there are mostly none.
        long transforms = usual ? attribute(nodes, info, "transform_descriptors") : PickleNodes.ABSENT;
        int attributes = transforms == PickleNodes.ABSENT ? 3 : 4;
        if (!usual || nodes.size(info) != attributes || attributes == 4 && transforms != PickleNodes.NONE) {
            return false;
        }
        long path = attribute(nodes, info, "relative_path");
        long offset = attribute(nodes, info, "offset");
        long length = attribute(nodes, info, "length");
        if (!isKind(nodes, path, Kind.TEXT)
                || !isKind(nodes, offset, Kind.INTEGER)
                || !isKind(nodes, length, Kind.INTEGER)) {
            return false;
        }
        builder.place(
                nodes.text(name),
                Optional.of(offsets),
                position == PickleNodes.NONE ? -1 : nodes.integer(position),
                new Place(nodes.text(path), nodes.integer(offset), nodes.integer(length), List.of()));
        return true;
    }

    private static boolean isKind(PickleNodes nodes, long reference, Kind kind) {
        return reference != PickleNodes.ABSENT && nodes.kind(reference) == kind;
    }

    /** Reference to the value of an attribute, or ABSENT. */
    private static long attribute(PickleNodes nodes, long dict, String name) {
        for (int i = 0; i < nodes.size(dict); i++) {
            long key = nodes.key(dict, i);
            if (nodes.kind(key) == Kind.TEXT && nodes.isText(key, name)) {
                return nodes.value(dict, i);
            }
        }
        return PickleNodes.ABSENT;
    }

    /**
     * The numbers of a {@code torch.Size}.
     *
     * @param arrays where to put them: an array for each length
     * @param times what the length of the array is of theirs
     * @param from where in the array they begin
     * @return the array, or null if they are not in the usual form
     */
    private long[] numbers(PickleNodes nodes, long reference, long[][] arrays, int times, int from) {
        if (reference == PickleNodes.ABSENT || !is(nodes, reference, Role.SIZE)) {
            return null;
        }
        long arguments = nodes.arguments(reference);
        if (nodes.size(arguments) != 1 || nodes.kind(nodes.item(arguments, 0)) != Kind.TUPLE) {
            return null;
        }
        long tuple = nodes.item(arguments, 0);
        int count = nodes.size(tuple);
        if (times * count >= arrays.length || from + count > times * count) {
            return null;
        }
        long[] numbers = arrays[times * count];
        for (int i = 0; i < count; i++) {
            long number = nodes.item(tuple, i);
            if (nodes.kind(number) != Kind.INTEGER) {
                return null;
            }
            numbers[from + i] = nodes.integer(number);
        }
        return numbers;
    }

    private boolean is(PickleNodes nodes, long reference, Role role) {
        return nodes.kind(reference) == Kind.OBJECT && role(nodes, reference) == role;
    }

    private Role role(PickleNodes nodes, long object) {
        int number = nodes.callableNumber(object);
        if (number >= roles.length) {
            roles = Arrays.copyOf(roles, 2 * number);
        }
        if (roles[number] == null) {
            roles[number] = role(nodes.callable(object));
        }
        return roles[number];
    }

    private static Role role(PyValue callable) {
        if (callable.equals(new PyGlobal("torch", "Size"))) {
            return Role.SIZE;
        }
        if (DcpMetadataReader.isClass(callable, "MetadataIndex")) {
            return Role.INDEX;
        }
        if (DcpMetadataReader.isClass(callable, "TensorStorageMetadata")) {
            return Role.TENSOR;
        }
        if (DcpMetadataReader.isClass(callable, "BytesStorageMetadata")) {
            return Role.BYTES;
        }
        if (DcpMetadataReader.isClass(callable, "ChunkStorageMetadata")) {
            return Role.CHUNK;
        }
        if (DcpMetadataReader.isClass(callable, "_StorageInfo")) {
            return Role.STORAGE_INFO;
        }
        return DcpMetadataReader.isClass(callable, "WriteItem") ? Role.WRITE_ITEM : Role.OTHER;
    }
}
