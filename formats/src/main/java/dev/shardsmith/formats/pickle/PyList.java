package dev.shardsmith.formats.pickle;

import java.util.ArrayList;
import java.util.List;

/** A Python list. */
public final class PyList implements PyValue {
    private final ArrayList<PyValue> items;

    /** An empty list. */
    public PyList() {
        this.items = new ArrayList<>(0);
    }

    /** A list of the given items. */
    public PyList(List<? extends PyValue> items) {
        this.items = new ArrayList<>(items);
    }

    /** The items, open to change. */
    public List<PyValue> items() {
        return items;
    }
}
