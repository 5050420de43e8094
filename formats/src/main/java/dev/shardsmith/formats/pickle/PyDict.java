package dev.shardsmith.formats.pickle;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A Python dict: pairs in order of insertion. Keys may be any node and are unique only where the writer saw to it. */
public final class PyDict implements PyValue {
    private final ArrayList<PyEntry> entries;

    /** An empty dict. */
    public PyDict() {
        this.entries = new ArrayList<>(0);
    }

    /** A dict of the given entries. */
    public PyDict(List<PyEntry> entries) {
        this.entries = new ArrayList<>(entries);
    }

    /** The entries, open to change. */
    public List<PyEntry> entries() {
        return entries;
    }

    /** Makes room for {@code more} entries, exactly so for the first ones: most dicts are filled at once. */
    void reserve(int more) {
        entries.ensureCapacity(entries.size() + more);
    }

    /** The value of a string key. */
    public Optional<PyValue> get(String key) {
        return PyEntry.find(entries, key);
    }

    /** Sets the value of a string key, at its old place or at the end. */
    public void put(String key, PyValue value) {
        PyEntry.put(entries, key, value);
    }

    /** Removes a string key; true if it was there. */
    public boolean remove(String key) {
        return entries.removeIf(entry -> entry.hasKey(key));
    }
}
