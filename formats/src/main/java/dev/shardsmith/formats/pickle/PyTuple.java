package dev.shardsmith.formats.pickle;

import java.util.List;

/** A Python tuple. */
public final class PyTuple implements PyValue {
    /** The empty tuple. */
    public static final PyTuple EMPTY = new PyTuple(List.of());

    private final List<PyValue> items;

    /** A tuple of the given items. */
    public PyTuple(List<? extends PyValue> items) {
        this.items = List.copyOf(items);
    }

    /** A tuple of the given items. */
    public static PyTuple of(PyValue... items) {
        return new PyTuple(List.of(items));
    }

    /** The items. */
    public List<PyValue> items() {
        return items;
    }
}
