package dev.shardsmith.formats.pickle;

import java.util.List;

/** A Python tuple. */
public final class PyTuple implements PyValue {
    /** The empty tuple. */
    public static final PyTuple EMPTY = new PyTuple(null, null, List.of());

    /** The items of tuples of one or two, which are by far the most; else null. */
    private final PyValue first;

    private final PyValue second;

    /** The items of other tuples, else null. */
    private final List<PyValue> many;

    private PyTuple(PyValue first, PyValue second, List<PyValue> many) {
        this.first = first;
        this.second = second;
        this.many = many;
    }

    /** A tuple of the given items. */
    public PyTuple(List<? extends PyValue> items) {
        int size = items.size();
        boolean few = size == 1 || size == 2;
        this.first = few ? items.get(0) : null;
        this.second = size == 2 ? items.get(1) : null;
        this.many = few ? null : List.copyOf(items);
    }

    /** A tuple of the given items. */
    public static PyTuple of(PyValue... items) {
        return new PyTuple(List.of(items));
    }

    static PyTuple ofOne(PyValue item) {
        return new PyTuple(item, null, null);
    }

    static PyTuple ofTwo(PyValue first, PyValue second) {
        return new PyTuple(first, second, null);
    }

    /** The items. */
    public List<PyValue> items() {
        if (many != null) {
            return many;
        }
        return second == null ? List.of(first) : List.of(first, second);
    }
}
