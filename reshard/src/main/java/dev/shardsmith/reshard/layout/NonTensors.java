package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchFile;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Finds the entries of a saved dict that hold other things than tensors. */
final class NonTensors {
    private final TorchFile file;
    private final Set<PyValue> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    private NonTensors(TorchFile file) {
        this.file = file;
    }

    /** Keys of the outermost dict whose values are or hold something that is no tensor, in order. */
    static List<String> of(TorchFile file) throws IOException {
        NonTensors finder = new NonTensors(file);
        Optional<List<PyEntry>> entries = entries(file.root());
        List<String> names = new ArrayList<>();
        if (entries.isEmpty() && finder.hasOther(file.root())) {
            names.add("the object itself");
        }
        for (PyEntry entry : entries.orElse(List.of())) {
            if (file.tensor(entry.value()).isEmpty() && finder.hasOther(entry.value())) {
                names.add(entry.key() instanceof PyStr key ? key.value() : "<key that is no string>");
            }
        }
        return names;
    }

    private boolean hasOther(PyValue root) throws IOException {
        Deque<PyValue> open = new ArrayDeque<>(List.of(root));
        boolean other = false;
        while (!open.isEmpty()) {
            PyValue value = open.pop();
            if (file.tensor(value).isPresent() || !seen.add(value)) {
                continue;
            }
            Optional<List<PyEntry>> entries = entries(value);
            if (entries.isPresent()) {
                entries.get().forEach(entry -> open.push(entry.value()));
            } else if (value instanceof PyList list) {
                list.items().forEach(open::push);
            } else if (value instanceof PyTuple tuple) {
                tuple.items().forEach(open::push);
            } else {
                other = true;
            }
        }
        return other;
    }

    /** The entries of a dict, or of an ordered one. */
    static Optional<List<PyEntry>> entries(PyValue value) {
        if (value instanceof PyDict dict) {
            return Optional.of(dict.entries());
        }
        if (value instanceof PyObject object
                && object.callable() instanceof PyGlobal type
                && type.module().equals("collections")) {
            List<PyEntry> entries = new ArrayList<>();
            for (PyObject.Step step : object.steps()) {
                if (step instanceof PyObject.Items items) {
                    entries.addAll(items.entries());
                }
            }
            return Optional.of(entries);
        }
        return Optional.empty();
    }
}
