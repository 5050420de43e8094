package dev.shardsmith.formats.pickle;

import java.util.ArrayDeque;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * A graph as a list of lines: equal for two graphs exactly when they have the same values, order, sharing and cycles.
 *
 * <p>What protocol 2 expresses in another way than later protocols is brought to one form.
 */
public final class GraphText {
    private final StringBuilder out = new StringBuilder();
    private final Map<PyValue, Integer> seen = new IdentityHashMap<>();
    private final ArrayDeque<Object> todo = new ArrayDeque<>();

    private GraphText() {}

    /** The text of a graph. */
    public static String of(PyValue root) {
        GraphText text = new GraphText();
        text.todo.push(root);
        while (!text.todo.isEmpty()) {
            Object next = text.todo.pop();
            if (next instanceof String word) {
                text.out.append(word).append('\n');
            } else {
                text.node((PyValue) next);
            }
        }
        return text.out.toString();
    }

    private void node(PyValue value) {
        if (value instanceof PyInt || value instanceof PyBool || value instanceof PyNone) {
            out.append(value).append('\n');
        } else if (value instanceof PyFloat real) {
            out.append("float ")
                    .append(Long.toHexString(Double.doubleToRawLongBits(real.value())))
                    .append('\n');
        } else if (value instanceof PyStr text) {
            out.append("str ").append(text.value()).append('\n');
        } else if (value instanceof PyGlobal global) {
            PyGlobal modern = Python2Names.toPython3(global);
            out.append("global ").append(modern.qualifiedName()).append('\n');
        } else if (value instanceof PyBytes bytes) {
            out.append(bytes.kind() + " " + HexFormat.of().formatHex(bytes.bytes()))
                    .append('\n');
        } else if (value instanceof PyTuple tuple && tuple.items().isEmpty()) {
            out.append("()\n");
        } else {
            Integer number = seen.putIfAbsent(value, seen.size());
            if (number != null) {
                out.append("same as #").append(number).append('\n');
                return;
            }
            out.append('#').append(seen.size() - 1).append(' ');
            container(value);
        }
    }

    private void container(PyValue value) {
        ArrayDeque<Object> parts = new ArrayDeque<>();
        if (value instanceof PyPersistent reference) {
            out.append("persistent\n");
            parts.add(reference.id());
        } else if (value instanceof PyTuple tuple) {
            out.append("tuple " + tuple.items().size() + "\n");
            parts.addAll(tuple.items());
        } else if (value instanceof PyList list) {
            out.append("list " + list.items().size() + "\n");
            parts.addAll(list.items());
        } else if (value instanceof PySet set) {
            out.append((set.frozen() ? "frozenset " : "set ") + set.items().size() + "\n");
            parts.addAll(set.items());
        } else if (value instanceof PyDict dict) {
            out.append("dict " + dict.entries().size() + "\n");
            dict.entries().forEach(entry -> {
                parts.add(entry.key());
                parts.add(entry.value());
            });
        } else if (value instanceof PyObject object) {
            out.append(object.kind() + "\n");
            parts.add(object.callable());
            parts.add(object.args());
            parts.add(object.kwargs());
            for (PyObject.Step step : object.steps()) {
                parts.add(step.getClass().getSimpleName());
                if (step instanceof PyObject.State state) {
                    parts.add(state.value());
                } else if (step instanceof PyObject.Items items) {
                    items.entries().forEach(entry -> {
                        parts.add(entry.key());
                        parts.add(entry.value());
                    });
                } else if (step instanceof PyObject.Appends appends) {
                    parts.addAll(appends.values());
                } else if (step instanceof PyObject.Adds adds) {
                    parts.addAll(adds.values());
                }
            }
            parts.add("end");
        }
        while (!parts.isEmpty()) {
            todo.push(parts.removeLast());
        }
    }
}
