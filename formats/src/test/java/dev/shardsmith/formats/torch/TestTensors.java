package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PickleWriter;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;

/** Small object graphs for tests. */
final class TestTensors {
    private TestTensors() {}

    /** The pickle of {@code {"w": tensor}} where the tensor has four float32 elements in storage 0. */
    static byte[] dictOfFourFloats() throws CheckpointException {
        return pickle(dict("w", new TorchPickle().tensor(DType.F32, Shape.of(2, 2), "0")));
    }

    static byte[] pickle(PyValue root) throws CheckpointException {
        return PickleWriter.write(root);
    }

    static PyDict dict(String key, PyValue value) {
        PyDict dict = new PyDict();
        dict.put(key, value);
        return dict;
    }

    static PyObject call(String module, String name, PyValue... args) {
        return new PyObject(PyObject.Kind.REDUCE, new PyGlobal(module, name), PyTuple.of(args));
    }

    static PyStr str(String text) {
        return new PyStr(text);
    }
}
