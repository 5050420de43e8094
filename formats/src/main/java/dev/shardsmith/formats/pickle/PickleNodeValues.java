package dev.shardsmith.formats.pickle;

import java.util.ArrayList;
import java.util.List;

/** Makes the graph of a reference. */
final class PickleNodeValues {
    /** Nodes that are made at most: one that is shared is made again for each of its owners. */
    private static final int MAX_NODES = 1 << 22;

    private final PickleNodes nodes;
    private int made;

    PickleNodeValues(PickleNodes nodes) {
        this.nodes = nodes;
    }

    PyValue of(long reference) throws PickleDeclinedException {
        return of(reference, 0);
    }

    private PyValue of(long reference, int depth) throws PickleDeclinedException {
        if (depth > PickleNodes.MAX_DEPTH || ++made > MAX_NODES) {
            throw new PickleDeclinedException();
        }
        return switch (nodes.kind(reference)) {
            case INTEGER -> PyInt.of(nodes.integer(reference));
            case TEXT -> new PyStr(nodes.text(reference));
            case CONSTANT -> nodes.constant(reference);
            case TUPLE -> nodes.size(reference) == 0 ? PyTuple.EMPTY : new PyTuple(items(reference, depth));
            case LIST -> new PyList(items(reference, depth));
            case DICT -> dict(reference, depth);
            case OBJECT -> object(reference, depth);
        };
    }

    private List<PyValue> items(long reference, int depth) throws PickleDeclinedException {
        List<PyValue> items = new ArrayList<>(nodes.size(reference));
        for (int i = 0; i < nodes.size(reference); i++) {
            items.add(of(nodes.item(reference, i), depth + 1));
        }
        return items;
    }

    private PyDict dict(long reference, int depth) throws PickleDeclinedException {
        PyDict dict = new PyDict();
        for (int i = 0; i < nodes.size(reference); i++) {
            dict.add(of(nodes.key(reference, i), depth + 1), of(nodes.value(reference, i), depth + 1));
        }
        return dict;
    }

    private PyObject object(long reference, int depth) throws PickleDeclinedException {
        PyObject object = new PyObject(
                nodes.how(reference), nodes.callable(reference), of(nodes.arguments(reference), depth + 1));
        if (nodes.hasState(reference)) {
            object.addStep(new PyObject.State(of(nodes.state(reference), depth + 1)));
        }
        return object;
    }
}
