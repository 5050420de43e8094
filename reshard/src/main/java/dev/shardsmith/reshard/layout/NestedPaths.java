package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchFile;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The places of tensors in nested dicts, which their names alone do not tell: keys may have dots in them.
 *
 * <p>Only keys that are strings are followed. Below anything else a tensor's place is its name: PyTorch's distributed
 * checkpoints would give it another one.
 */
final class NestedPaths {
    private final TorchFile file;
    private Map<String, List<PyValue>> paths = Map.of();
    private boolean searched;

    /** The places of a file's tensors, which are looked up when the first is asked for: most commands do without. */
    NestedPaths(TorchFile file) {
        this.file = file;
    }

    private record Step(Step above, PyStr key, PyValue node) {}

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

    private static Map<String, List<PyValue>> search(PyValue root, Set<PyValue> tensors) {
        Map<String, List<PyValue>> paths = new HashMap<>();
        Set<PyValue> entered = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Step> open = new ArrayDeque<>();
        open.push(new Step(null, null, root));
        while (!open.isEmpty()) {
            Step step = open.pop();
            if (tensors.contains(step.node())) {
                add(step, paths);
            } else if (entered.add(step.node())) {
                List<PyEntry> entries = NonTensors.entries(step.node()).orElse(List.of());
                for (int i = entries.size() - 1; i >= 0; i--) {
                    if (entries.get(i).key() instanceof PyStr key) {
                        open.push(new Step(step, key, entries.get(i).value()));
                    }
                }
            }
        }
        return paths;
    }

    private static void add(Step tensor, Map<String, List<PyValue>> paths) {
        LinkedList<PyValue> path = new LinkedList<>();
        LinkedList<String> name = new LinkedList<>();
        for (Step step = tensor; step.above() != null; step = step.above()) {
            path.addFirst(step.key());
            name.addFirst(step.key().value());
        }
        paths.putIfAbsent(String.join(".", name), List.copyOf(path));
    }
}
