package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyGraph;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyPersistent;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import dev.shardsmith.formats.pickle.Unpickled;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The stream that PyTorch wrote before 1.6, and still does on request: pickles back to back, then the storages. */
final class LegacyStream {
    static final BigInteger MAGIC = new BigInteger("1950A86A20F9469CFC6C", 16);

    private static final long VERSION = 1001;

    private final ByteSource source;
    private final TorchLimits limits;
    private final StorageInterpreter storages;
    private final Map<String, ByteSource> data = new HashMap<>();
    private final Map<String, Claim> claims = new HashMap<>();
    private boolean textIds;
    private Unpickled object;
    private long end;

    private LegacyStream(ByteSource source, TorchLimits limits) {
        this.source = source;
        this.limits = limits;
        this.storages = new StorageInterpreter(source, this::resolve, limits);
    }

    /** What the object says of a storage; the stream itself does not say how long elements are. */
    private record Claim(Optional<DType> elementType, long elements) {}

    static LegacyStream read(ByteSource source, TorchLimits limits) throws IOException {
        LegacyStream stream = new LegacyStream(source, limits);
        stream.read();
        return stream;
    }

    /** The object that was saved. */
    Unpickled object() {
        return object;
    }

    StorageInterpreter storages() {
        return storages;
    }

    /** Bytes after the last storage. */
    long trailingBytes() {
        return source.size() - end;
    }

    private void read() throws IOException {
        Unpickled magic = pickle(0);
        if (!(magic.value() instanceof PyInt number) || !number.toBigInteger().equals(MAGIC)) {
            throw CheckpointException.malformed(
                    source.name(),
                    0,
                    "the stream should begin with PyTorch's magic number 0x1950a86a20f9469cfc6c, but begins with "
                            + (magic.value() instanceof PyInt found
                                    ? "0x" + found.toBigInteger().toString(16)
                                    : magic.value().describe()));
        }
        Unpickled version = pickle(magic.end());
        if (!version.value().equals(PyInt.of(VERSION))) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED,
                    source.name() + " at byte " + magic.end(),
                    "the stream has protocol version " + PythonText.repr(version.value()) + "; only " + VERSION
                            + " is known");
        }
        Unpickled system = pickle(version.end());
        DangerousCalls calls = new DangerousCalls();
        object = PickleReader.read(source, system.end(), limits.pickle(), calls);
        calls.refuse(source.name());
        Unpickled keys = pickle(object.end());
        if (!(keys.value() instanceof PyList list)) {
            throw CheckpointException.malformed(
                    source.name(),
                    object.end(),
                    "the list of storages is " + keys.value().describe());
        }
        findClaims();
        readStorages(list, keys.end());
    }

    private Unpickled pickle(long start) throws IOException {
        return PickleReader.read(source, start, limits.pickle());
    }

    private void findClaims() throws CheckpointException {
        PyGraph.forEach(object.value(), value -> {
            textIds |= value instanceof PyPersistent reference && reference.id() instanceof PyStr;
            if (value instanceof PyPersistent reference
                    && reference.id() instanceof PyTuple id
                    && id.items().size() > 4
                    && id.items().get(1) instanceof PyGlobal type
                    && StorageTypes.isStorage(type)
                    && id.items().get(4) instanceof PyInt count) {
                Claim claim =
                        new Claim(StorageTypes.elementType(type), count.asLong().orElse(-1));
                PythonText.string(id.items().get(2)).ifPresent(key -> claims.putIfAbsent(key, claim));
            }
        });
        if (textIds) {
            throw StorageInterpreter.textId(source);
        }
    }

    private void readStorages(PyList keys, long start) throws IOException {
        long at = start;
        if (keys.items().size() > limits.records()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    source.name(),
                    "the stream has " + keys.items().size() + " storages; the limit is " + limits.records());
        }
        for (PyValue item : keys.items()) {
            String key = PythonText.string(item).orElse(null);
            Claim claim = key == null ? null : claims.get(key);
            if (claim == null) {
                throw CheckpointException.malformed(
                        source.name(),
                        start,
                        "the stream lists storage " + PythonText.repr(item) + ", but its object does not refer to it");
            }
            long elements = source.readBuffer(at, Long.BYTES).getLong();
            at += Long.BYTES;
            int itemSize = StorageTypes.itemSize(claim.elementType());
            if (elements < 0 || elements != claim.elements() || elements > Long.MAX_VALUE / itemSize) {
                throw CheckpointException.malformed(
                        source.name(),
                        at - Long.BYTES,
                        "storage " + key + " claims " + elements + " elements, but the object expects "
                                + claim.elements());
            }
            if (data.put(key, source.slice("storage " + key, at, elements * itemSize)) != null) {
                throw CheckpointException.malformed(source.name(), start, "storage " + key + " is listed twice");
            }
            at += elements * itemSize;
        }
        end = at;
    }

    private TorchStorage resolve(StorageResolver.StorageId id, PyValue view) throws CheckpointException {
        ByteSource bytes = data.get(id.key());
        if (bytes == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    source.name(),
                    "the object refers to storage " + id.key() + ", but the stream does not hold it");
        }
        if (bytes.size() != id.bytes()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    bytes.name(),
                    "the object expects " + id.bytes() + " bytes, but the stream has " + bytes.size());
        }
        if (!(view instanceof PyTuple range)) {
            return storage(id.key(), id, id.elements(), bytes);
        }
        long[] part = viewRange(range, id);
        int itemSize = StorageTypes.itemSize(id.elementType());
        ByteSource slice = bytes.slice("view", part[0] * itemSize, part[1] * itemSize);
        return storage(PythonText.str(range.items().get(0)), id, part[1], slice);
    }

    /** Offset and size of a view, in elements: {@code (key, offset, size)}. */
    private long[] viewRange(PyTuple range, StorageResolver.StorageId id) throws CheckpointException {
        if (range.items().size() == 3
                && range.items().get(1) instanceof PyInt offset
                && range.items().get(2) instanceof PyInt size) {
            long start = offset.asLong().orElse(-1);
            long length = size.asLong().orElse(-1);
            if (start >= 0 && length >= 0 && start <= id.elements() && length <= id.elements() - start) {
                return new long[] {start, length};
            }
        }
        throw CheckpointException.of(
                CheckpointException.Kind.MALFORMED,
                source.name(),
                "a view of storage " + id.key() + " does not lie inside it");
    }

    private static TorchStorage storage(String key, StorageResolver.StorageId id, long elements, ByteSource bytes) {
        // Streams are little-endian, whatever machine wrote them.
        return new TorchStorage(key, id.elementType(), elements, id.location(), bytes, ByteOrder.LITTLE_ENDIAN);
    }
}
