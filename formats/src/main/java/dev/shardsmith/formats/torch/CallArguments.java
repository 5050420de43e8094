package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import java.util.List;
import java.util.Optional;

/** The arguments of a rebuild function, with checks of what they should be. */
final class CallArguments {
    private static final int MAX_DIMENSIONS = 64;

    private final String source;
    private final PyGlobal callable;
    private final List<PyValue> values;

    CallArguments(String source, PyGlobal callable, PyValue args) {
        this.source = source;
        this.callable = callable;
        this.values = args instanceof PyTuple tuple ? tuple.items() : List.of();
    }

    int count() {
        return values.size();
    }

    PyValue get(int index) throws CheckpointException {
        if (index >= values.size()) {
            throw malformed("has " + values.size() + " arguments, but needs at least " + (index + 1));
        }
        return values.get(index);
    }

    /** The argument, if there are so many. */
    Optional<PyValue> optional(int index) {
        return index < values.size() ? Optional.of(values.get(index)) : Optional.empty();
    }

    long integer(int index) throws CheckpointException {
        return integer(get(index), index);
    }

    private long integer(PyValue value, int index) throws CheckpointException {
        if (value instanceof PyInt number && number.asLong().isPresent()) {
            return number.asLong().getAsLong();
        }
        throw malformed("has " + value.describe() + " where argument " + index + " should be a 64-bit integer");
    }

    double real(int index) throws CheckpointException {
        PyValue value = get(index);
        if (value instanceof PyFloat real) {
            return real.value();
        }
        return integer(value, index);
    }

    boolean truth(int index) throws CheckpointException {
        if (get(index) instanceof PyBool bool) {
            return bool.value();
        }
        throw malformed("has " + get(index).describe() + " where argument " + index + " should be a bool");
    }

    /** A tuple or {@code torch.Size} of integers, none of them negative. */
    long[] sizes(int index) throws CheckpointException {
        PyValue value = get(index);
        if (value instanceof PyObject object
                && object.isCallOf("torch", "Size")
                && object.args() instanceof PyTuple args
                && args.items().size() == 1) {
            value = args.items().get(0);
        }
        List<PyValue> items;
        if (value instanceof PyTuple tuple) {
            items = tuple.items();
        } else if (value instanceof PyList list) {
            items = list.items();
        } else {
            throw malformed("has " + value.describe() + " where argument " + index + " should be a tuple of integers");
        }
        if (items.size() > MAX_DIMENSIONS) {
            throw malformed("has " + items.size() + " dimensions; PyTorch allows " + MAX_DIMENSIONS);
        }
        long[] sizes = new long[items.size()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = integer(items.get(i), index);
            if (sizes[i] < 0) {
                throw malformed("has the negative number " + sizes[i] + " in argument " + index);
            }
        }
        return sizes;
    }

    Shape shape(int index) throws CheckpointException {
        long[] sizes = sizes(index);
        try {
            return Shape.of(sizes);
        } catch (ArithmeticException e) {
            throw (CheckpointException)
                    malformed("has a shape of more than 2^63 elements").causedBy(e);
        }
    }

    /** A type by its name in module torch; empty if it is one that we do not know. */
    Optional<DType> dtype(int index) throws CheckpointException {
        PyValue value = get(index);
        if (value instanceof PyGlobal global
                && global.module().equals("torch")
                && global.name().indexOf('.') < 0) {
            return DType.ofTorchName(global.name());
        }
        throw malformed("has " + value.describe() + " where argument " + index + " should be a type");
    }

    /** The full name of the class in an argument. */
    String className(int index) throws CheckpointException {
        PyValue value = get(index);
        return PythonText.qualifiedName(value).orElseGet(value::describe);
    }

    /** The text of a string argument. */
    String text(int index) throws CheckpointException {
        PyValue value = get(index);
        return PythonText.string(value)
                .orElseThrow(() ->
                        malformed("has " + value.describe() + " where argument " + index + " should be a string"));
    }

    /** True if argument {@code index} is a dict that has this key with a true value. */
    boolean flag(int index, String key) {
        return optional(index).orElse(null) instanceof PyDict dict
                && dict.get(key).orElse(null) instanceof PyBool bool
                && bool.value();
    }

    CheckpointException malformed(String problem) {
        return CheckpointException.of(
                CheckpointException.Kind.MALFORMED, source, "a call of " + callable.qualifiedName() + " " + problem);
    }
}
