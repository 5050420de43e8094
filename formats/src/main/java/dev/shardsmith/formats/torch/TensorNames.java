package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyGraph;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PySet;
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
 * <p>A container is entered once, by the first path that leads to it; a tensor is listed under every path.
 */
final class TensorNames {
    private final TensorInterpreter interpreter;
    private final List<NamedTensor> found = new ArrayList<>();
    private final Set<PyValue> entered = Collections.newSetFromMap(new IdentityHashMap<>());
    private final ArrayDeque<Visit> open = new ArrayDeque<>();
    private final List<Visit> children = new ArrayList<>();

    private TensorNames(TensorInterpreter interpreter) {
        this.interpreter = interpreter;
    }

    /** A node that is to be looked at, or a tensor whose parts have been listed and which is now listed itself. */
    private record Visit(String path, PyValue node, Optional<TorchTensor> finished) {}

    static List<NamedTensor> find(PyValue root, TensorInterpreter interpreter) throws IOException {
        TensorNames names = new TensorNames(interpreter);
        names.walk(root);
        return names.found;
    }

    private void walk(PyValue root) throws IOException {
        open.push(new Visit("", root, Optional.empty()));
        while (!open.isEmpty()) {
            Visit visit = open.pop();
            if (visit.finished.isPresent()) {
                found.add(new NamedTensor(visit.path, visit.finished.get(), visit.node));
                continue;
            }
            Optional<TorchTensor> tensor = interpreter.of(visit.node);
            if (tensor.isPresent()) {
                tensor(visit, tensor.get());
            } else if (interpreter.storage(visit.node).isEmpty() && entered.add(visit.node)) {
                container(visit.path, visit.node);
            }
            for (int i = children.size() - 1; i >= 0; i--) {
                open.push(children.get(i));
            }
            children.clear();
        }
    }

    private void tensor(Visit visit, TorchTensor tensor) {
        for (TorchTensor.Part part : tensor.parts()) {
            child(visit.path + "#" + part.name(), part.node());
        }
        // A tensor may be reachable from its own attributes.
        if (!tensor.attributes().isEmpty() && entered.add(visit.node)) {
            List<PyEntry> attributes = new ArrayList<>(tensor.attributes());
            attributes.sort(Comparator.comparing(entry -> PythonText.str(entry.key())));
            for (PyEntry attribute : attributes) {
                child(visit.path + "@" + PythonText.str(attribute.key()), attribute.value());
            }
        }
        children.add(new Visit(visit.path, visit.node, Optional.of(tensor)));
    }

    private void container(String path, PyValue node) {
        if (node instanceof PyDict dict) {
            entries(path, dict.entries());
        } else if (node instanceof PyList list) {
            items(path, list.items());
        } else if (node instanceof PyTuple tuple) {
            items(path, tuple.items());
        } else if (node instanceof PySet set) {
            items(path, set.items());
        } else if (node instanceof PyObject object) {
            object(path, object);
        }
    }

    private void object(String path, PyObject object) {
        boolean container =
                object.callable() instanceof PyGlobal type && type.module().equals("collections");
        if (object.args() instanceof PyTuple args) {
            if (container && args.items().size() == 1) {
                pairs(path, args.items().get(0));
            } else {
                items(path, args.items());
            }
        }
        if (object.kwargs() instanceof PyDict kwargs) {
            entries(path, kwargs.entries());
        }
        for (PyObject.Step step : object.steps()) {
            if (step instanceof PyObject.Items items) {
                entries(path, items.entries());
                container = true;
            } else if (step instanceof PyObject.Appends appends) {
                items(path, appends.values());
                container = true;
            } else if (step instanceof PyObject.Adds adds) {
                items(path, adds.values());
            } else if (step instanceof PyObject.State state) {
                state(path, state.value(), container);
            }
        }
    }

    /** What dicts are made of: a dict, or as in Python 2 a list of keys and values. */
    private void pairs(String path, PyValue content) {
        if (content instanceof PyDict dict) {
            entries(path, dict.entries());
        } else if (content instanceof PyList list) {
            List<PyEntry> entries = new ArrayList<>();
            for (PyValue item : list.items()) {
                List<PyValue> pair = item instanceof PyTuple tuple
                        ? tuple.items()
                        : item instanceof PyList two ? two.items() : List.of();
                if (pair.size() == 2) {
                    entries.add(new PyEntry(pair.get(0), pair.get(1)));
                }
            }
            entries(path, entries);
        } else {
            child(path + "[0]", content);
        }
    }

    /** Attributes of containers are marked, so that they are not taken for items. */
    private void state(String path, PyValue state, boolean container) {
        if (state instanceof PyDict dict) {
            attributes(path, dict, container);
        } else if (state instanceof PyTuple tuple) {
            for (int i = 0; i < tuple.items().size(); i++) {
                PyValue part = tuple.items().get(i);
                if (part instanceof PyDict dict) {
                    attributes(path, dict, container);
                } else if (part instanceof PyList list) {
                    // The elements of an array of objects.
                    items(path, list.items());
                } else {
                    child(path + "[" + i + "]", part);
                }
            }
        } else {
            child(path + "@state", state);
        }
    }

    private void attributes(String path, PyDict dict, boolean container) {
        if (container) {
            dict.entries().forEach(entry -> child(path + "@" + PythonText.str(entry.key()), entry.value()));
        } else {
            entries(path, dict.entries());
        }
    }

    private void entries(String path, List<PyEntry> entries) {
        for (PyEntry entry : entries) {
            if (!PyGraph.isScalar(entry.value())) {
                String key = PythonText.string(entry.key()).orElseGet(() -> "<" + PythonText.repr(entry.key()) + ">");
                child(path.isEmpty() ? key : path + "." + key, entry.value());
            }
        }
    }

    private void items(String path, List<PyValue> items) {
        for (int i = 0; i < items.size(); i++) {
            if (!PyGraph.isScalar(items.get(i))) {
                child(path + "[" + i + "]", items.get(i));
            }
        }
    }

    private void child(String path, PyValue node) {
        if (!PyGraph.isScalar(node)) {
            children.add(new Visit(path, node, Optional.empty()));
        }
    }
}
