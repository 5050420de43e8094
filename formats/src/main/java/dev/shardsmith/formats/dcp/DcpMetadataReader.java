package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.dcp.DcpMetadata.DcpOrigin;
import dev.shardsmith.formats.dcp.DcpMetadataBuilder.Place;
import dev.shardsmith.formats.pickle.PickleConsumer;
import dev.shardsmith.formats.pickle.PickleLimits;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Understands the pickle of {@code .metadata}, whichever PyTorch from 1.13 on and whichever Megatron wrote it.
 *
 * <p>Classes are told by their names: their modules moved over the years. Attributes and classes that are not known are
 * passed over. Megatron's may be millions of entries, and copies of all write plans many times that: entries are taken in as
 * they come, plans are dropped.
 */
final class DcpMetadataReader implements PickleConsumer {
    private final String source;
    private final DcpMetadataBuilder builder;

    DcpMetadataReader(String source) {
        this.source = source;
        this.builder = new DcpMetadataBuilder(source);
    }

    DcpMetadataBuilder builder() {
        return builder;
    }

    static DcpMetadata read(ByteSource source) throws IOException {
        Optional<DcpMetadata> plain = DcpNodeReader.read(source);
        return plain.isPresent() ? plain.get() : readObjects(source);
    }

    /** Reads any pickle, by way of objects. */
    static DcpMetadata readObjects(ByteSource source) throws IOException {
        DcpMetadataReader reader = new DcpMetadataReader(source.name());
        PyValue root =
                PickleReader.read(source, 0, PickleLimits.defaults(), reader).value();
        return reader.finish(root);
    }

    /** What is in the pickle whose entries were taken in. */
    DcpMetadata finish(PyValue root) throws CheckpointException {
        metadata(root);
        return builder.finish();
    }

    @Override
    public boolean entries(List<PyEntry> entries) throws CheckpointException {
        for (PyEntry entry : entries) {
            if (!isOurs(entry)) {
                return false;
            }
        }
        for (PyEntry entry : entries) {
            consume(entry);
        }
        return true;
    }

    @Override
    public boolean values(List<PyValue> values) {
        for (PyValue value : values) {
            if (!(value instanceof PyObject object) || !isClass(object, "WriteItem")) {
                return false;
            }
        }
        return true;
    }

    /** True for entries of the three large dicts; no other dict of the file has entries of these forms. */
    private static boolean isOurs(PyEntry entry) {
        if (entry.key() instanceof PyObject key) {
            return isClass(key, "MetadataIndex");
        }
        if (!(entry.key() instanceof PyStr)) {
            return false;
        }
        if (entry.value() instanceof PyTuple path) {
            return !path.items().isEmpty() && path.items().get(0) instanceof PyStr;
        }
        return entry.value() instanceof PyObject object
                && isClass(object, "TensorStorageMetadata", "BytesStorageMetadata");
    }

    private void metadata(PyValue root) throws CheckpointException {
        if (!(root instanceof PyObject object) || !isClass(object, "Metadata", "MCoreMetadata")) {
            throw malformed("the pickle does not hold a torch.distributed.checkpoint Metadata object")
                    .withHint("is this the .metadata of a distributed checkpoint?");
        }
        PyDict state = stateDict(object, "Metadata");
        consume(dict(state, "state_dict_metadata").orElseThrow(() -> malformed("state_dict_metadata is missing")));
        Optional<PyDict> planner = dict(state, "planner_data");
        if (planner.isPresent()) {
            consume(planner.get());
        }
        Optional<PyDict> storage = dict(state, "storage_data");
        if (storage.isPresent()) {
            consume(storage.get());
        }
        Optional<PyDict> reformulated = dict(state, "mcore_data");
        if (reformulated.isPresent()) {
            originalShapes(reformulated.get());
        }
        String version = state.get("version").orElse(PyNone.NONE) instanceof PyStr text ? text.value() : "";
        builder.origin = new DcpOrigin(version, planner.isPresent());
    }

    private void consume(PyDict dict) throws CheckpointException {
        for (PyEntry entry : dict.entries()) {
            consume(entry);
        }
        dict.entries().clear();
    }

    /** Takes in one entry of one of the three large dicts. */
    void consume(PyEntry entry) throws CheckpointException {
        if (entry.key() instanceof PyObject key && isClass(key, "MetadataIndex")) {
            place(key, entry.value());
        } else if (!(entry.key() instanceof PyStr name)) {
            throw malformed("a key is " + entry.key().getClass().getSimpleName() + ", not a string or MetadataIndex");
        } else if (entry.value() instanceof PyTuple path) {
            builder.plannerPath(name.value(), path.items());
        } else if (entry.value() instanceof PyObject object) {
            described(name.value(), object);
        } else {
            throw malformed("the entry of " + name.value() + " is not an object or a path");
        }
    }

    private void described(String name, PyObject object) throws CheckpointException {
        if (isPrototype(object)) {
            throw CheckpointException.of(
                            CheckpointException.Kind.UNSUPPORTED,
                            source,
                            "the distributed checkpoint has the form of the PyTorch 1.12 prototype, which is not supported")
                    .withHint(
                            "load it with PyTorch 1.12 and save it with torch.save, or with a later PyTorch's checkpoints");
        }
        if (isClass(object, "TensorStorageMetadata")) {
            PyDict state = stateDict(object, name);
            builder.tensor(name, dtype(name, state), size(required(name, state, "size")));
            chunks(name, state);
        } else if (isClass(object, "BytesStorageMetadata")) {
            builder.object(name);
        } else {
            throw malformed("the entry of " + name + " is an object of an unknown class");
        }
    }

    /** Before 1.13 each description named its file itself. */
    private static boolean isPrototype(PyObject object) {
        return isClass(object, "ShardedTensorStorageMetadata")
                || object.state().orElse(PyNone.NONE) instanceof PyDict state
                        && state.get("storage_key").isPresent();
    }

    private void chunks(String name, PyDict state) throws CheckpointException {
        if (!(required(name, state, "chunks") instanceof PyList list)) {
            throw malformed("chunks of " + name + " is not a list");
        }
        for (PyValue item : list.items()) {
            if (!(item instanceof PyObject object) || !isClass(object, "ChunkStorageMetadata")) {
                throw malformed("chunks of " + name + " holds something that is not a ChunkStorageMetadata");
            }
            PyDict box = stateDict(object, name);
            builder.chunk(size(required(name, box, "offsets")), size(required(name, box, "sizes")));
        }
    }

    /** The first element of the state tuple; very old writers gave a dict. */
    private String dtype(String name, PyDict state) throws CheckpointException {
        PyValue properties = required(name, state, "properties");
        PyValue given = properties instanceof PyObject object ? object.state().orElse(PyNone.NONE) : properties;
        PyValue dtype = PyNone.NONE;
        if (given instanceof PyTuple tuple && !tuple.items().isEmpty()) {
            dtype = tuple.items().get(0);
        } else if (given instanceof PyDict dict) {
            dtype = dict.get("dtype").orElse(PyNone.NONE);
        }
        if (dtype instanceof PyGlobal global && global.module().equals("torch")) {
            return global.name();
        }
        throw malformed("the properties of " + name + " name no element type");
    }

    private void place(PyObject key, PyValue value) throws CheckpointException {
        PyDict index = stateDict(key, "MetadataIndex");
        if (!(index.get("fqn").orElse(PyNone.NONE) instanceof PyStr name)) {
            throw malformed("a MetadataIndex has no fqn");
        }
        if (!(value instanceof PyObject info) || !isClass(info, "_StorageInfo")) {
            throw malformed("the place of " + name.value() + " is not a _StorageInfo");
        }
        PyValue offset = index.get("offset").orElse(PyNone.NONE);
        Optional<long[]> offsets = offset == PyNone.NONE ? Optional.empty() : Optional.of(size(offset));
        long position = index.get("index").orElse(PyNone.NONE) instanceof PyInt hint
                ? hint.asLong().orElse(-1)
                : -1;
        builder.place(name.value(), offsets, position, place(name.value(), stateDict(info, name.value())));
    }

    private Place place(String name, PyDict state) throws CheckpointException {
        if (!(required(name, state, "relative_path") instanceof PyStr path)) {
            throw malformed("relative_path of " + name + " is not a string");
        }
        List<String> transforms = new ArrayList<>(0);
        if (state.get("transform_descriptors").orElse(PyNone.NONE) instanceof PyList list) {
            for (PyValue item : list.items()) {
                if (!(item instanceof PyStr text)) {
                    throw malformed("transform_descriptors of " + name + " holds something that is not a string");
                }
                transforms.add(text.value());
            }
        }
        return new Place(
                path.value(),
                number(name, required(name, state, "offset")),
                number(name, required(name, state, "length")),
                List.copyOf(transforms));
    }

    private void originalShapes(PyDict reformulated) throws CheckpointException {
        for (PyEntry entry : reformulated.entries()) {
            if (entry.key() instanceof PyStr name && entry.value() instanceof PyDict details) {
                Optional<PyValue> shape = details.get("nd_reformulated_orig_global_shape");
                if (shape.isPresent()) {
                    builder.originalShape(name.value(), size(shape.get()));
                }
            }
        }
    }

    /** The numbers of a {@code torch.Size}, tuple or list. */
    private long[] size(PyValue value) throws CheckpointException {
        PyValue numbers = value;
        if (value instanceof PyObject object && object.isCallOf("torch", "Size")) {
            List<PyValue> args = object.args() instanceof PyTuple tuple ? tuple.items() : List.of();
            numbers = args.size() == 1 ? args.get(0) : args.isEmpty() ? PyTuple.EMPTY : PyNone.NONE;
        }
        List<PyValue> items;
        if (numbers instanceof PyTuple tuple) {
            items = tuple.items();
        } else if (numbers instanceof PyList list) {
            items = list.items();
        } else {
            throw malformed("a size is not a torch.Size");
        }
        long[] sizes = new long[items.size()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = number("a size", items.get(i));
        }
        return sizes;
    }

    private long number(String what, PyValue value) throws CheckpointException {
        if (value instanceof PyInt number && number.asLong().isPresent()) {
            return number.asLong().getAsLong();
        }
        throw malformed(what + " has something where a number of at most 64 bits is expected");
    }

    private PyValue required(String name, PyDict state, String attribute) throws CheckpointException {
        return state.get(attribute).orElseThrow(() -> malformed("the entry of " + name + " has no " + attribute));
    }

    private PyDict stateDict(PyObject object, String name) throws CheckpointException {
        if (object.state().orElse(PyNone.NONE) instanceof PyDict dict) {
            return dict;
        }
        throw malformed("the object of " + name + " has no attributes");
    }

    private Optional<PyDict> dict(PyDict state, String attribute) throws CheckpointException {
        PyValue value = state.get(attribute).orElse(PyNone.NONE);
        if (value instanceof PyDict dict) {
            return Optional.of(dict);
        }
        if (value == PyNone.NONE) {
            return Optional.empty();
        }
        throw malformed(attribute + " is not a dict");
    }

    private static boolean isClass(PyObject object, String first, String second) {
        return isClass(object, first) || isClass(object, second);
    }

    private static boolean isClass(PyObject object, String name) {
        return isClass(object.callable(), name);
    }

    static boolean isClass(PyValue callable, String name) {
        return callable instanceof PyGlobal global
                && global.name().equals(name)
                && (global.module().startsWith("torch.distributed.")
                        || global.module().startsWith("megatron."));
    }

    private CheckpointException malformed(String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, source, problem);
    }
}
