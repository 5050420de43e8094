package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyPersistent;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Makes the nodes by which PyTorch rebuilds tensors and the small objects around them.
 *
 * <p>One object for one file: keys and class names that are used again are the same node, so that they are written once.
 */
public final class TorchPickle {
    private static final PyGlobal REBUILD_V2 = new PyGlobal("torch._utils", "_rebuild_tensor_v2");
    private static final PyGlobal REBUILD_V3 = new PyGlobal("torch._utils", "_rebuild_tensor_v3");
    private static final PyGlobal REBUILD_PARAMETER = new PyGlobal("torch._utils", "_rebuild_parameter");
    private static final PyGlobal UNTYPED = new PyGlobal("torch.storage", "UntypedStorage");
    private static final PyGlobal ORDERED_DICT = new PyGlobal("collections", "OrderedDict");
    private static final PyGlobal SIZE = new PyGlobal("torch", "Size");
    private static final PyGlobal DEVICE = new PyGlobal("torch", "device");

    private final PyStr storage = new PyStr("storage");
    private final PyStr cpu = new PyStr("cpu");
    private final Map<String, PyStr> keys = new HashMap<>();

    /**
     * A row-major tensor that has a storage for itself.
     *
     * @param storageKey the name by which the file's image asks for the tensor's bytes
     * @throws IllegalArgumentException for quantized types, which need more than this
     */
    public PyObject tensor(DType dtype, Shape shape, String storageKey) {
        return tensor(dtype, shape, shape.rowMajorStrides(), 0, storageKey, shape.elements());
    }

    /**
     * A tensor that looks at a part of a storage.
     *
     * @param strides one per dimension, in elements
     * @param offset its first element in the storage, in elements
     * @param storageElements size of the storage, in elements
     */
    public PyObject tensor(
            DType dtype, Shape shape, long[] strides, long offset, String storageKey, long storageElements) {
        if (dtype.kind() == DType.Kind.QUANTIZED || !dtype.byteAligned()) {
            throw new IllegalArgumentException("no plain tensor has elements of type " + dtype.torchName());
        }
        Optional<String> typed = StorageTypes.className(dtype);
        PyGlobal type = typed.map(name -> new PyGlobal("torch", name)).orElse(UNTYPED);
        // Untyped storages count bytes.
        long count = typed.isPresent() ? storageElements : dtype.bytes(storageElements);
        List<PyValue> args = new ArrayList<>(List.of(
                reference(type, storageKey, count),
                PyInt.of(offset),
                integers(shape.toArray()),
                integers(strides),
                PyBool.FALSE,
                orderedDict(List.of())));
        if (typed.isEmpty()) {
            args.add(dtype(dtype));
        }
        return new PyObject(PyObject.Kind.REDUCE, typed.isPresent() ? REBUILD_V2 : REBUILD_V3, new PyTuple(args));
    }

    /** A parameter around a tensor. */
    public PyObject parameter(PyObject tensor, boolean requiresGrad) {
        return new PyObject(
                PyObject.Kind.REDUCE,
                REBUILD_PARAMETER,
                PyTuple.of(tensor, PyBool.of(requiresGrad), orderedDict(List.of())));
    }

    /** A reference to a storage on the CPU; {@code elements} counts bytes for untyped storages. */
    private PyPersistent reference(PyGlobal type, String key, long elements) {
        return new PyPersistent(
                PyTuple.of(storage, type, keys.computeIfAbsent(key, PyStr::new), cpu, PyInt.of(elements)));
    }

    /** {@code torch.float32} */
    public static PyGlobal dtype(DType dtype) {
        return new PyGlobal("torch", dtype.torchName());
    }

    /** {@code torch.Size([2, 3])} */
    public static PyObject size(long... sizes) {
        return new PyObject(PyObject.Kind.REDUCE, SIZE, PyTuple.of(integers(sizes)));
    }

    /** {@code torch.device("cpu")}, {@code torch.device("cuda", 0)} */
    public static PyObject device(String name) {
        int colon = name.indexOf(':');
        PyTuple args = colon < 0
                ? PyTuple.of(new PyStr(name))
                : PyTuple.of(new PyStr(name.substring(0, colon)), PyInt.of(Long.parseLong(name.substring(colon + 1))));
        return new PyObject(PyObject.Kind.REDUCE, DEVICE, args);
    }

    /** A {@code collections.OrderedDict} of the given entries. */
    public static PyObject orderedDict(List<PyEntry> entries) {
        PyObject dict = new PyObject(PyObject.Kind.REDUCE, ORDERED_DICT, PyTuple.EMPTY);
        if (!entries.isEmpty()) {
            dict.addStep(new PyObject.Items(new ArrayList<>(entries)));
        }
        return dict;
    }

    private static PyTuple integers(long[] values) {
        return values.length == 0
                ? PyTuple.EMPTY
                : new PyTuple(Arrays.stream(values).mapToObj(PyInt::of).toList());
    }
}
