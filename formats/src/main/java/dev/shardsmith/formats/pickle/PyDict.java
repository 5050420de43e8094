package dev.shardsmith.formats.pickle;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** A Python dict: pairs in order of insertion. Keys may be any node and are unique only where the writer saw to it. */
public final class PyDict implements PyValue {
    private static final PyValue[] NOTHING = new PyValue[0];

    /** Keys and values in turn: metadata of large checkpoints are millions of small dicts. */
    private PyValue[] flat = NOTHING;

    private int size;

    /** An empty dict. */
    public PyDict() {}

    /** A dict of the given entries. */
    public PyDict(List<PyEntry> entries) {
        reserve(entries.size());
        entries.forEach(entry -> add(entry.key(), entry.value()));
    }

    /** The entries, open to change. */
    public List<PyEntry> entries() {
        return new Entries();
    }

    /** Makes room for {@code more} entries, exactly so for the first ones: most dicts are filled at once. */
    void reserve(int more) {
        long wanted = 2L * (size + (long) more);
        if (wanted > flat.length) {
            long room = size == 0 ? wanted : Math.max(wanted, flat.length + (flat.length / 4 & ~1L) + 8L);
            flat = Arrays.copyOf(flat, Math.toIntExact(room));
        }
    }

    /** Adds an entry at the end, whatever keys there are. */
    void add(PyValue key, PyValue value) {
        if (2 * size == flat.length) {
            reserve(1);
        }
        flat[2 * size] = key;
        flat[2 * size + 1] = value;
        size++;
    }

    /** The value of a string key. */
    public Optional<PyValue> get(String key) {
        // From the end: of equal keys Python keeps the last value.
        for (int i = size - 1; i >= 0; i--) {
            if (flat[2 * i] instanceof PyStr text && text.value().equals(key)) {
                return Optional.of(flat[2 * i + 1]);
            }
        }
        return Optional.empty();
    }

    /** Sets the value of a string key, at its old place or at the end. */
    public void put(String key, PyValue value) {
        for (int i = 0; i < size; i++) {
            if (flat[2 * i] instanceof PyStr text && text.value().equals(key)) {
                flat[2 * i + 1] = value;
                return;
            }
        }
        add(new PyStr(key), value);
    }

    /** Removes a string key; true if it was there. */
    public boolean remove(String key) {
        return entries().removeIf(entry -> entry.hasKey(key));
    }

    private final class Entries extends AbstractList<PyEntry> {
        @Override
        public PyEntry get(int index) {
            check(index, size);
            return new PyEntry(flat[2 * index], flat[2 * index + 1]);
        }

        @Override
        public int size() {
            return size;
        }

        @Override
        public PyEntry set(int index, PyEntry entry) {
            PyEntry before = get(index);
            flat[2 * index] = entry.key();
            flat[2 * index + 1] = entry.value();
            return before;
        }

        @Override
        public void add(int index, PyEntry entry) {
            check(index, size + 1);
            PyDict.this.add(entry.key(), entry.value());
            if (index < size - 1) {
                System.arraycopy(flat, 2 * index, flat, 2 * index + 2, 2 * (size - 1 - index));
                set(index, entry);
            }
            modCount++;
        }

        @Override
        public PyEntry remove(int index) {
            PyEntry before = get(index);
            System.arraycopy(flat, 2 * index + 2, flat, 2 * index, 2 * (size - 1 - index));
            size--;
            flat[2 * size] = null;
            flat[2 * size + 1] = null;
            modCount++;
            return before;
        }

        private static void check(int index, int limit) {
            if (index < 0 || index >= limit) {
                throw new IndexOutOfBoundsException("entry " + index + " of " + limit);
            }
        }
    }
}
