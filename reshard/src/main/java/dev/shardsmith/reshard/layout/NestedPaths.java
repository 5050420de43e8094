package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import dev.shardsmith.formats.torch.TorchFile;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The places of tensors in nested dicts and lists, which their names alone do not tell: keys may have dots in them.
 *
 * <p>Lists and dicts are followed, and keys that are no strings stand in a place as PyTorch's flattening has them, as what Python's
 * {@code str()} makes of them. Below anything else, such as a tuple, a tensor's place is its name: PyTorch would store the whole.
 */
final class NestedPaths {
    private final TorchFile file;
    private Map<String, List<PyValue>> paths = Map.of();
    private boolean searched;

    /** The places of a file's tensors, which are looked up when the first is asked for: most commands do without. */
    NestedPaths(TorchFile file) {
        this.file = file;
    }

    /**
     * One step down.
     *
     * @param key a position (an int) or what a key is to PyTorch's flattening (a string)
     * @param shown the step in a tensor's name
     */
    private record Step(Step above, PyValue key, String shown, PyValue node) {}

    /** The place of a tensor. */
    synchronized List<PyValue> of(String name) {
        if (!searched) {
            Set<PyValue> tensors = Collections.newSetFromMap(new IdentityHashMap<>());
            file.tensors().forEach(tensor -> tensors.add(tensor.node()));
            paths = search(file.root(), tensors);
            searched = true;
        }
        return paths.getOrDefault(name, List.of(new PyStr(name)));
    }

    /** The name that an entry of a distributed checkpoint has here: its key, with positions in lists in brackets. */
    static String nameOf(DcpCheckpoint checkpoint, String key) {
        Optional<List<PyValue>> path =
                checkpoint.pathThroughLists(key).filter(steps -> key(steps).equals(key));
        if (path.isEmpty()) {
            return key;
        }
        String name = name(path.get());
        return checkpoint.tensor(name).isPresent() ? key : name;
    }

    /** The key of a tensor in a distributed checkpoint: as PyTorch flattens the path, if the name tells that path. */
    static String key(String tensor, List<? extends PyValue> path) {
        return tells(tensor, path) ? key(path) : tensor;
    }

    /** Whether a name is that of a path; a key in it may have been no string in the file, and stands in angle brackets then. */
    private static boolean tells(String tensor, List<? extends PyValue> path) {
        int at = 0;
        for (PyValue step : path) {
            String text = PythonText.str(step);
            String plain = step instanceof PyInt ? "[" + text + "]" : (at == 0 ? "" : ".") + text;
            String bracketed = (at == 0 ? "<" : ".<") + text + ">";
            if (tensor.startsWith(plain, at)) {
                at += plain.length();
            } else if (step instanceof PyStr && tensor.startsWith(bracketed, at)) {
                at += bracketed.length();
            } else {
                return false;
            }
        }
        return at == tensor.length();
    }

    private static String key(List<? extends PyValue> path) {
        return path.stream().map(PythonText::str).collect(Collectors.joining("."));
    }

    private static String name(List<? extends PyValue> path) {
        StringBuilder name = new StringBuilder();
        for (PyValue step : path) {
            String text = PythonText.str(step);
            if (step instanceof PyInt) {
                name.append('[').append(text).append(']');
            } else {
                name.append(name.length() == 0 ? "" : ".").append(text);
            }
        }
        return name.toString();
    }

    private static Map<String, List<PyValue>> search(PyValue root, Set<PyValue> tensors) {
        Map<String, List<PyValue>> paths = new HashMap<>();
        Set<PyValue> entered = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Step> open = new ArrayDeque<>();
        open.push(new Step(null, null, "", root));
        while (!open.isEmpty()) {
            Step step = open.pop();
            if (tensors.contains(step.node())) {
                add(step, paths);
            } else if (entered.add(step.node())) {
                children(step).forEach(open::push);
            }
        }
        return paths;
    }

    /** What lies in a dict or list, the last first. */
    private static List<Step> children(Step step) {
        List<Step> children = new ArrayList<>();
        if (step.node() instanceof PyList list) {
            for (int i = list.items().size() - 1; i >= 0; i--) {
                children.add(
                        new Step(step, PyInt.of(i), "[" + i + "]", list.items().get(i)));
            }
        }
        List<PyEntry> entries = NonTensors.entries(step.node()).orElse(List.of());
        for (int i = entries.size() - 1; i >= 0; i--) {
            PyValue key = entries.get(i).key();
            Optional<String> text = PythonText.string(key);
            if (text.isPresent() || isTold(key)) {
                PyStr flattened = new PyStr(PythonText.str(key));
                String shown = text.orElseGet(() -> "<" + PythonText.repr(key) + ">");
                children.add(new Step(step, flattened, shown, entries.get(i).value()));
            }
        }
        return children;
    }

    /** Whether {@link PythonText} tells the whole of a key that is no string. */
    private static boolean isTold(PyValue key) {
        if (key instanceof PyTuple tuple) {
            return tuple.items().stream().allMatch(item -> item instanceof PyStr || isNumber(item))
                    && !PythonText.repr(key).contains("…");
        }
        return isNumber(key);
    }

    private static boolean isNumber(PyValue key) {
        return key instanceof PyInt || key instanceof PyBool || key instanceof PyNone || key instanceof PyFloat;
    }

    private static void add(Step tensor, Map<String, List<PyValue>> paths) {
        LinkedList<Step> steps = new LinkedList<>();
        for (Step step = tensor; step.above() != null; step = step.above()) {
            steps.addFirst(step);
        }
        // The outermost object of a state dict is a dict.
        if (!steps.isEmpty() && steps.getFirst().key() instanceof PyStr) {
            StringBuilder name = new StringBuilder();
            for (Step step : steps) {
                name.append(name.length() == 0 || step.key() instanceof PyInt ? "" : ".")
                        .append(step.shown());
            }
            paths.putIfAbsent(name.toString(), steps.stream().map(Step::key).toList());
        }
    }
}
