package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PickleWriter;
import dev.shardsmith.formats.pickle.PyBool;
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
import dev.shardsmith.formats.torch.TorchPickle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Makes {@code .metadata} files of any version, right or wrong, node by node. */
final class MetadataGraph {
    final PyDict described = new PyDict();
    final PyDict places = new PyDict();
    final PyDict state = new PyDict();
    String module = "torch.distributed.checkpoint.";
    String properties = "torch.distributed.checkpoint.metadata";
    String root = "torch.distributed.checkpoint.metadata Metadata";
    PyValue dtype = new PyGlobal("torch", "uint8");

    MetadataGraph() {
        state.put("state_dict_metadata", described);
        state.put("storage_data", places);
    }

    /** A tensor of one-byte elements, with chunks as pairs of offsets and sizes. */
    MetadataGraph tensor(String name, long[] shape, long[]... boxes) {
        PyList chunks = new PyList();
        for (int i = 0; i < boxes.length; i += 2) {
            chunks.items()
                    .add(object(
                            module + "metadata",
                            "ChunkStorageMetadata",
                            "offsets",
                            size(boxes[i]),
                            "sizes",
                            size(boxes[i + 1])));
        }
        return described(name, size(shape), chunks);
    }

    MetadataGraph described(String name, PyValue shape, PyValue chunks) {
        PyObject how = make(properties, "TensorProperties");
        PyObject memory = new PyObject(
                PyObject.Kind.REDUCE, new PyGlobal(properties, "_MEM_FORMAT_ENCODING"), PyTuple.of(PyInt.of(0)));
        how.addStep(new PyObject.State(PyTuple.of(dtype, PyNone.NONE, PyBool.FALSE, memory, PyBool.FALSE)));
        described.put(
                name,
                object(
                        module + "metadata",
                        "TensorStorageMetadata",
                        "properties",
                        how,
                        "size",
                        shape,
                        "chunks",
                        chunks));
        return this;
    }

    MetadataGraph object(String name) {
        described.put(name, make(module + "metadata", "BytesStorageMetadata"));
        return this;
    }

    MetadataGraph place(String name, long[] offset, String path, long begin, long length, String... transforms) {
        return place(
                name,
                offset == null ? null : size(offset),
                new PyStr(path),
                PyInt.of(begin),
                PyInt.of(length),
                transforms);
    }

    MetadataGraph place(
            String name, PyValue offset, PyValue path, PyValue begin, PyValue length, String... transforms) {
        PyObject key = object(module + "metadata", "MetadataIndex", "fqn", new PyStr(name), "index", PyNone.NONE);
        if (offset != null) {
            ((PyDict) key.state().orElseThrow()).put("offset", offset);
        }
        PyObject info = object(module + "filesystem", "_StorageInfo", "relative_path", path, "offset", begin);
        ((PyDict) info.state().orElseThrow()).put("length", length);
        if (transforms.length > 0) {
            PyList list = new PyList();
            for (String transform : transforms) {
                list.items().add(new PyStr(transform));
            }
            ((PyDict) info.state().orElseThrow()).put("transform_descriptors", list);
        }
        places.entries().add(new PyEntry(key, info));
        return this;
    }

    byte[] pickle() throws CheckpointException {
        String[] name = root.split(" ");
        PyObject metadata = make(name[0], name[1]);
        metadata.addStep(new PyObject.State(state));
        return PickleWriter.write(metadata);
    }

    MetadataGraph write(Path folder) throws IOException {
        Files.write(folder.resolve(".metadata"), pickle());
        return this;
    }

    static PyObject make(String module, String name) {
        return new PyObject(PyObject.Kind.NEWOBJ, new PyGlobal(module, name), PyTuple.EMPTY);
    }

    static PyObject object(String module, String name, String key1, PyValue value1, String key2, PyValue value2) {
        PyObject object = make(module, name);
        PyDict state = new PyDict();
        state.put(key1, value1);
        state.put(key2, value2);
        object.addStep(new PyObject.State(state));
        return object;
    }

    private static PyObject object(
            String module, String name, String k1, PyValue v1, String k2, PyValue v2, String k3, PyValue v3) {
        PyObject object = object(module, name, k1, v1, k2, v2);
        ((PyDict) object.state().orElseThrow()).put(k3, v3);
        return object;
    }

    static PyObject size(long... sizes) {
        return TorchPickle.size(sizes);
    }

    static PyTuple tuple(long... numbers) {
        return new PyTuple(Arrays.stream(numbers).mapToObj(PyInt::of).toList());
    }

    static long[] at(long... numbers) {
        return numbers;
    }

    static PyList wrapped(PyValue value) {
        return new PyList(List.of(value));
    }
}
