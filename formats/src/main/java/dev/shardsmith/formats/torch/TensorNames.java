package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyGraph;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PySet;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Finds all tensors of an object graph and names each by its path.
 *
 * <p>A container is entered once, by the first path that leads to it; a tensor is listed under every path, and what it is made
 * of under the first. So the list is never longer than the graph, however much of it is shared.
 */
final class TensorNames {
    /** Longer than any name of a program's; nesting costs two bytes of a file for each of its levels. */
    private static final int LONGEST_NAME = 1 << 16;

    private final TensorInterpreter interpreter;
    private final String source;
    private final long mostCharacters;
    private long characters;
    private final List<NamedTensor> found = new ArrayList<>();
    private final Set<PyValue> entered = Collections.newSetFromMap(new IdentityHashMap<>());
    private final ArrayDeque<Visit> open = new ArrayDeque<>();
    private final List<Visit> children = new ArrayList<>();

    private TensorNames(TensorInterpreter interpreter, String source, long mostCharacters) {
        this.interpreter = interpreter;
        this.source = source;
        this.mostCharacters = mostCharacters;
    }

    /** A node that is to be looked at, or a tensor whose parts have been listed and which is now listed itself. */
    private static final class Visit {
        /** The node that leads here; null for the root. */
        private final Visit above;

        /** What stands between the names: {@code .}, {@code #}, {@code @} or nothing. */
        private final String sign;

        /** The last part of the name. */
        private final String step;

        private final PyValue node;

        /** The tensor that this is, if its parts have been listed; else null. */
        private final TorchTensor finished;

        /** The name, once it was needed; else null. */
        private String name;

        Visit(Visit above, String sign, String step, PyValue node, TorchTensor finished) {
            this.above = above;
            this.sign = sign;
            this.step = step;
            this.node = node;
            this.finished = finished;
        }
    }

    /**
     * All tensors below a node.
     *
     * @param source what the graph was read from, for error messages
     * @param mostCharacters how long all names may be together
     */
    static List<NamedTensor> find(PyValue root, TensorInterpreter interpreter, String source, long mostCharacters)
            throws IOException {
        TensorNames names = new TensorNames(interpreter, source, mostCharacters);
        names.walk(root);
        return names.found;
    }

    private void walk(PyValue root) throws IOException {
        open.push(new Visit(null, "", "", root, null));
        while (!open.isEmpty()) {
            Visit visit = open.pop();
            if (visit.finished != null) {
                found(visit.above, visit.sign, visit.step, visit.finished, visit.node);
                continue;
            }
            Optional<TorchTensor> tensor = interpreter.of(visit.node);
            if (tensor.isPresent()) {
                tensor(visit, tensor.get());
            } else if (interpreter.storage(visit.node).isEmpty() && entered.add(visit.node)) {
                container(visit);
            }
            for (int i = children.size() - 1; i >= 0; i--) {
                open.push(children.get(i));
            }
            children.clear();
        }
    }

    /** Lists a tensor. */
    private void found(Visit above, String sign, String step, TorchTensor tensor, PyValue node)
            throws CheckpointException {
        String before = above == null ? "" : name(above);
        requireShort(before.length() + sign.length() + (long) step.length());
        String name = joined(before, sign, step);
        characters += name.length();
        if (characters > mostCharacters) {
            throw limit("the names of the tensors need more than the limit of " + mostCharacters + " characters");
        }
        found.add(new NamedTensor(name, tensor, node));
    }

    /** A dot stands between names, not before the first. */
    private static String joined(String before, String sign, String step) {
        if (before.isEmpty()) {
            return sign.equals(".") || sign.isEmpty() ? step : sign + step;
        }
        return before + sign + step;
    }

    /** The steps from the root to here. */
    private String name(Visit visit) throws CheckpointException {
        if (visit.name != null) {
            return visit.name;
        }
        List<Visit> path = new ArrayList<>();
        long length = 0;
        Visit known = visit;
        for (; known.above != null && known.name == null; known = known.above) {
            path.add(known);
            length += known.sign.length() + (long) known.step.length();
            requireShort(length);
        }
        StringBuilder name = new StringBuilder(known.name == null ? "" : known.name);
        requireShort(length + name.length());
        for (int i = path.size() - 1; i >= 0; i--) {
            Visit at = path.get(i);
            if (name.length() > 0 || !at.sign.equals(".")) {
                name.append(at.sign);
            }
            name.append(at.step);
        }
        visit.name = name.toString();
        return visit.name;
    }

    private void requireShort(long length) throws CheckpointException {
        if (length > LONGEST_NAME) {
            throw limit("a tensor has a name of more than " + LONGEST_NAME + " characters");
        }
    }

    private CheckpointException limit(String problem) {
        return CheckpointException.of(CheckpointException.Kind.LIMIT, source, problem);
    }

    private void tensor(Visit visit, TorchTensor tensor) throws IOException {
        // A tensor may be reachable from its own attributes.
        if (isCompound(tensor) && entered.add(visit.node)) {
            for (TorchTensor.Part part : tensor.parts()) {
                child(visit, "#", part.name(), part.node());
            }
            List<PyEntry> attributes = new ArrayList<>(tensor.attributes());
            attributes.sort(Comparator.comparing(entry -> PythonText.str(entry.key())));
            for (PyEntry attribute : attributes) {
                child(visit, "@", PythonText.str(attribute.key()), attribute.value());
            }
        }
        children.add(new Visit(visit.above, visit.sign, visit.step, visit.node, tensor));
    }

    private static boolean isCompound(TorchTensor tensor) {
        return !tensor.parts().isEmpty() || !tensor.attributes().isEmpty();
    }

    private void container(Visit visit) throws IOException {
        if (visit.node instanceof PyDict dict) {
            entries(visit, dict.entries());
        } else if (visit.node instanceof PyList list) {
            items(visit, list.items());
        } else if (visit.node instanceof PyTuple tuple) {
            items(visit, tuple.items());
        } else if (visit.node instanceof PySet set) {
            items(visit, set.items());
        } else if (visit.node instanceof PyObject object) {
            object(visit, object);
        }
    }

    private void object(Visit visit, PyObject object) throws IOException {
        boolean container =
                object.callable() instanceof PyGlobal type && type.module().equals("collections");
        if (object.args() instanceof PyTuple args && entered.add(args)) {
            if (container && args.items().size() == 1) {
                pairs(visit, args.items().get(0));
            } else {
                items(visit, args.items());
            }
        }
        if (object.kwargs() instanceof PyDict kwargs && entered.add(kwargs)) {
            entries(visit, kwargs.entries());
        }
        for (PyObject.Step step : object.steps()) {
            if (step instanceof PyObject.Items items) {
                entries(visit, items.entries());
                container = true;
            } else if (step instanceof PyObject.Appends appends) {
                items(visit, appends.values());
                container = true;
            } else if (step instanceof PyObject.Adds adds) {
                items(visit, adds.values());
            } else if (step instanceof PyObject.State state) {
                state(visit, state.value(), container);
            }
        }
    }

    /** What dicts are made of: a dict, or as in Python 2 a list of keys and values. */
    private void pairs(Visit visit, PyValue content) throws IOException {
        if (content instanceof PyDict dict && entered.add(dict)) {
            entries(visit, dict.entries());
        } else if (content instanceof PyList list && entered.add(list)) {
            List<PyEntry> entries = new ArrayList<>();
            for (PyValue item : list.items()) {
                List<PyValue> pair = item instanceof PyTuple tuple
                        ? tuple.items()
                        : item instanceof PyList two ? two.items() : List.of();
                if (pair.size() == 2) {
                    entries.add(new PyEntry(pair.get(0), pair.get(1)));
                }
            }
            entries(visit, entries);
        } else if (!(content instanceof PyDict || content instanceof PyList)) {
            child(visit, "", "[0]", content);
        }
    }

    /** Attributes of containers are marked, so that they are not taken for items. */
    private void state(Visit visit, PyValue state, boolean container) throws IOException {
        if (state instanceof PyDict dict) {
            if (entered.add(dict)) {
                attributes(visit, dict, container);
            }
        } else if (state instanceof PyTuple tuple) {
            if (entered.add(tuple)) {
                states(visit, tuple, container);
            }
        } else {
            child(visit, "@", "state", state);
        }
    }

    private void states(Visit visit, PyTuple tuple, boolean container) throws IOException {
        for (int i = 0; i < tuple.items().size(); i++) {
            PyValue part = tuple.items().get(i);
            if (part instanceof PyDict) {
                state(visit, part, container);
            } else if (part instanceof PyList list) {
                // The elements of an array of objects.
                if (entered.add(list)) {
                    items(visit, list.items());
                }
            } else {
                child(visit, "", "[" + i + "]", part);
            }
        }
    }

    private void attributes(Visit visit, PyDict dict, boolean container) throws IOException {
        if (container) {
            for (PyEntry entry : dict.entries()) {
                child(visit, "@", PythonText.str(entry.key()), entry.value());
            }
        } else {
            entries(visit, dict.entries());
        }
    }

    private void entries(Visit visit, List<PyEntry> entries) throws IOException {
        for (PyEntry entry : entries) {
            if (!PyGraph.isScalar(entry.value())) {
                String key = entry.key() instanceof PyStr text
                        ? text.value()
                        : PythonText.string(entry.key()).orElseGet(() -> "<" + PythonText.repr(entry.key()) + ">");
                child(visit, ".", key, entry.value());
            }
        }
    }

    private void items(Visit visit, List<PyValue> items) throws IOException {
        for (int i = 0; i < items.size(); i++) {
            if (!PyGraph.isScalar(items.get(i))) {
                child(visit, "", "[" + i + "]", items.get(i));
            }
        }
    }

    private void child(Visit visit, String sign, String step, PyValue node) throws IOException {
        if (PyGraph.isScalar(node)) {
            return;
        }
        Optional<TorchTensor> tensor = children.isEmpty() ? interpreter.of(node) : Optional.empty();
        if (tensor.isPresent() && !isCompound(tensor.get())) {
            // Nothing that stands before it is still to be listed.
            found(visit, sign, step, tensor.get(), node);
        } else {
            children.add(new Visit(visit, sign, step, node, null));
        }
    }
}
