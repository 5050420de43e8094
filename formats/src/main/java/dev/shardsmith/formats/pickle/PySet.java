package dev.shardsmith.formats.pickle;

import java.util.ArrayList;
import java.util.List;

/** A Python {@code set} or {@code frozenset} in the order of the stream. */
public final class PySet implements PyValue {
    private final boolean frozen;
    private final List<PyValue> items;

    /** A set of the given items. */
    public PySet(boolean frozen, List<? extends PyValue> items) {
        this.frozen = frozen;
        this.items = new ArrayList<>(items);
    }

    /** True for a {@code frozenset}. */
    public boolean frozen() {
        return frozen;
    }

    /** The items, open to change. */
    public List<PyValue> items() {
        return items;
    }
}
