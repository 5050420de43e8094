package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyPersistent;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Understands the ways in which a pickle names storages, and keeps each storage once. */
final class StorageInterpreter {
    private final ByteSource source;
    private final StorageResolver resolver;
    private final TorchLimits limits;
    private final Map<String, TorchStorage> byKey = new HashMap<>();
    private final Map<PyObject, TorchStorage> embedded = new IdentityHashMap<>();
    private final List<TorchStorage> inOrder = new ArrayList<>();

    /** The class of storages that was met last, and its element type: most of a file's tensors have the same. */
    private PyGlobal lastClass;

    private Optional<DType> lastType = Optional.empty();

    StorageInterpreter(ByteSource source, StorageResolver resolver, TorchLimits limits) {
        this.source = source;
        this.resolver = resolver;
        this.limits = limits;
    }

    /** All storages met so far, in the order of first use. */
    List<TorchStorage> all() {
        return List.copyOf(inOrder);
    }

    /** The storage that a node names, if it does. */
    Optional<TorchStorage> of(PyValue node) throws IOException {
        if (node instanceof PyPersistent reference) {
            return reference(reference);
        }
        if (node instanceof PyObject object && object.isCallOf("torch.storage", "_load_from_bytes")) {
            TorchStorage seen = embedded.get(object);
            if (seen == null) {
                seen = embedded(object);
                embedded.put(object, seen);
                inOrder.add(seen);
            }
            return Optional.of(seen);
        }
        return Optional.empty();
    }

    private Optional<TorchStorage> reference(PyPersistent reference) throws IOException {
        if (reference.id() instanceof PyStr) {
            throw textId(source);
        }
        if (!(reference.id() instanceof PyTuple id) || id.size() == 0) {
            throw malformed("is " + reference.id().describe() + ", not a tuple");
        }
        String kind = PythonText.string(id.get(0)).orElse("");
        if (kind.equals("module")) {
            // A class with its source text, from the days when whole modules were saved.
            return Optional.empty();
        }
        if (!kind.equals("storage")) {
            throw malformed("is of the unknown kind " + PythonText.repr(id.get(0)));
        }
        if (id.size() != 5 && id.size() != 6) {
            throw malformed("has " + id.size() + " parts, not 5 or 6");
        }
        if (!(id.get(1) instanceof PyGlobal type) || type != lastClass && !StorageTypes.isStorage(type)) {
            throw malformed("names " + id.get(1).describe() + " where a class of storages should be");
        }
        String key = PythonText.string(id.get(2)).orElseThrow(() -> malformed("has a key that is no string"));
        String location = PythonText.string(id.get(3)).orElseThrow(() -> malformed("has a location that is no string"));
        Optional<DType> elementType = type == lastClass ? lastType : StorageTypes.elementType(type);
        lastClass = type;
        lastType = elementType;
        long elements = id.get(4) instanceof PyInt count ? count.asLong().orElse(-1) : -1;
        int itemSize = StorageTypes.itemSize(elementType);
        if (elements < 0 || elements > Long.MAX_VALUE / itemSize) {
            throw malformed("of storage " + key + " has an impossible number of elements");
        }
        PyValue view = id.size() == 6 ? id.get(5) : PyNone.NONE;
        return Optional.of(
                stored(new StorageResolver.StorageId(key, elementType, elements, elements * itemSize, location), view));
    }

    private TorchStorage stored(StorageResolver.StorageId id, PyValue view) throws IOException {
        String name = view instanceof PyTuple tuple && !tuple.items().isEmpty()
                ? PythonText.str(tuple.items().get(0))
                : id.key();
        TorchStorage seen = byKey.get(name);
        if (seen == null) {
            seen = resolver.resolve(id, view);
            byKey.put(name, seen);
            inOrder.add(seen);
        } else if (view == PyNone.NONE
                && (seen.elements() != id.elements() || !seen.elementType().equals(id.elementType()))) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    source.name(),
                    "storage " + id.key() + " is referred to with two types or sizes");
        }
        return seen;
    }

    /** A storage inside the pickle: its bytes are a whole stream that holds nothing else. */
    private TorchStorage embedded(PyObject object) throws IOException {
        byte[] bytes = object.args() instanceof PyTuple args && args.items().size() == 1
                ? PythonText.bytes(args.items().get(0)).orElse(null)
                : null;
        if (bytes == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    source.name(),
                    "a call of torch.storage._load_from_bytes does not have bytes as its argument");
        }
        if (limits.nestedStreams() <= 0) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT, source.name(), "streams lie inside streams too deep");
        }
        ByteSource inner = ByteSource.of(source.name() + "!bytes#" + embedded.size(), bytes);
        LegacyStream stream = LegacyStream.read(inner, limits.withNestedStreams(limits.nestedStreams() - 1));
        return stream.storages()
                .of(stream.object().value())
                .orElseThrow(() -> CheckpointException.of(
                        CheckpointException.Kind.MALFORMED,
                        inner.name(),
                        "the bytes given to torch.storage._load_from_bytes do not hold a storage"));
    }

    /** Protocol 0 writes the text of an id, from which PyTorch makes no tuple again. */
    static CheckpointException textId(ByteSource source) {
        return CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        source.name(),
                        "the file was saved with pickle protocol 0, which turns references to storages into text; PyTorch"
                                + " does not load such a file either")
                .withHint("save it again with torch.save's own protocol, 2");
    }

    private CheckpointException malformed(String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, source.name(), "a persistent id " + problem);
    }
}
