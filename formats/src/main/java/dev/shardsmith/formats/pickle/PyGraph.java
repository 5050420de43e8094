package dev.shardsmith.formats.pickle;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/** Walks graphs without recursion, so that neither depth nor cycles matter. */
public final class PyGraph {
    private PyGraph() {}

    /** Gives each container, object and reference of a graph once, and scalars as often as they occur; in order. */
    public static void forEach(PyValue root, Consumer<PyValue> visitor) {
        Set<PyValue> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        ArrayDeque<PyValue> open = new ArrayDeque<>();
        open.push(root);
        while (!open.isEmpty()) {
            PyValue value = open.pop();
            if (isScalar(value)) {
                visitor.accept(value);
            } else if (seen.add(value)) {
                visitor.accept(value);
                pushChildren(value, open);
            }
        }
    }

    /** True for values that hold no others. */
    public static boolean isScalar(PyValue value) {
        return value instanceof PyInt
                || value instanceof PyStr
                || value instanceof PyFloat
                || value instanceof PyBool
                || value instanceof PyNone
                || value instanceof PyGlobal
                || value instanceof PyBytes;
    }

    private static void pushChildren(PyValue value, ArrayDeque<PyValue> open) {
        if (value instanceof PyTuple tuple) {
            pushAll(tuple.items(), open);
        } else if (value instanceof PyList list) {
            pushAll(list.items(), open);
        } else if (value instanceof PySet set) {
            pushAll(set.items(), open);
        } else if (value instanceof PyDict dict) {
            pushEntries(dict.entries(), open);
        } else if (value instanceof PyPersistent reference) {
            open.push(reference.id());
        } else if (value instanceof PyObject object) {
            for (int i = object.stepCount() - 1; i >= 0; i--) {
                pushStep(object.step(i), open);
            }
            open.push(object.kwargs());
            open.push(object.args());
            open.push(object.callable());
        }
    }

    private static void pushStep(PyObject.Step step, ArrayDeque<PyValue> open) {
        if (step instanceof PyObject.State state) {
            open.push(state.value());
        } else if (step instanceof PyObject.Items items) {
            pushEntries(items.entries(), open);
        } else if (step instanceof PyObject.Appends appends) {
            pushAll(appends.values(), open);
        } else if (step instanceof PyObject.Adds adds) {
            pushAll(adds.values(), open);
        }
    }

    private static void pushAll(List<PyValue> values, ArrayDeque<PyValue> open) {
        for (int i = values.size() - 1; i >= 0; i--) {
            open.push(values.get(i));
        }
    }

    private static void pushEntries(List<PyEntry> entries, ArrayDeque<PyValue> open) {
        for (int i = entries.size() - 1; i >= 0; i--) {
            open.push(entries.get(i).value());
            open.push(entries.get(i).key());
        }
    }
}
