package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.NameIndex;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** Tensors by name, in the order in which they came: a table of plain numbers, as there may be a million. */
final class TensorMap extends AbstractMap<String, LogicalTensor> {
    private final NameIndex names = new NameIndex();
    private final List<LogicalTensor> tensors = new ArrayList<>();

    /** Adds a tensor at the end, or in the place of that of its name. */
    void add(LogicalTensor tensor) {
        if (names.add(tensor.name())) {
            tensors.add(tensor);
        } else {
            tensors.set(names.find(tensor.name()), tensor);
        }
    }

    /** Adds a tensor of a name that is known not to be there yet. */
    void append(LogicalTensor tensor) {
        names.append(tensor.name());
        tensors.add(tensor);
    }

    /** All names in order; a view. */
    List<String> names() {
        return names.names();
    }

    @Override
    public int size() {
        return tensors.size();
    }

    @Override
    public LogicalTensor get(Object name) {
        int number = name instanceof String text ? names.find(text) : -1;
        return number < 0 ? null : tensors.get(number);
    }

    @Override
    public boolean containsKey(Object name) {
        return name instanceof String text && names.find(text) >= 0;
    }

    @Override
    public Set<String> keySet() {
        return new Entries<>(names::get) {
            @Override
            public boolean contains(Object name) {
                return containsKey(name);
            }
        };
    }

    @Override
    public List<LogicalTensor> values() {
        return Collections.unmodifiableList(tensors);
    }

    @Override
    public Set<Map.Entry<String, LogicalTensor>> entrySet() {
        return new Entries<>(number -> Map.entry(names.get(number), tensors.get(number)));
    }

    /** Something of each tensor, in order. */
    private class Entries<T> extends AbstractSet<T> {
        private final IntFunction<T> entry;

        Entries(IntFunction<T> entry) {
            this.entry = entry;
        }

        @Override
        public Iterator<T> iterator() {
            return IntStream.range(0, size()).mapToObj(entry).iterator();
        }

        @Override
        public int size() {
            return tensors.size();
        }
    }
}
