package dev.shardsmith.formats.pickle;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.RandomAccess;

/** A Python tuple. */
public final class PyTuple implements PyValue {
    /** The empty tuple. */
    public static final PyTuple EMPTY = new PyTuple(new PyValue[0]);

    /** The items of tuples of one or two, which are by far the most; else null. */
    private final PyValue first;

    private final PyValue second;

    /** The items of other tuples, else null. */
    private final PyValue[] many;

    private PyTuple(PyValue first, PyValue second) {
        this.first = first;
        this.second = second;
        this.many = null;
    }

    private PyTuple(PyValue[] many) {
        this.first = null;
        this.second = null;
        this.many = many;
    }

    /** A tuple of the given items. */
    public PyTuple(List<? extends PyValue> items) {
        int size = items.size();
        boolean few = size == 1 || size == 2;
        this.first = few ? items.get(0) : null;
        this.second = size == 2 ? items.get(1) : null;
        this.many = few ? null : items.toArray(new PyValue[0]);
    }

    /** A tuple of the given items. */
    public static PyTuple of(PyValue... items) {
        return ofArray(items.clone());
    }

    static PyTuple ofOne(PyValue item) {
        return new PyTuple(item, null);
    }

    static PyTuple ofTwo(PyValue first, PyValue second) {
        return new PyTuple(first, second);
    }

    /** A tuple of the items of an array, which nobody else has. */
    static PyTuple ofArray(PyValue[] items) {
        return switch (items.length) {
            case 0 -> EMPTY;
            case 1 -> ofOne(items[0]);
            case 2 -> ofTwo(items[0], items[1]);
            default -> new PyTuple(items);
        };
    }

    /** Number of items. */
    public int size() {
        return many != null ? many.length : second == null ? 1 : 2;
    }

    /**
     * Item number {@code index}.
     *
     * @throws IndexOutOfBoundsException if there are not so many
     */
    public PyValue get(int index) {
        if (many != null) {
            return many[index];
        }
        if (index == 0) {
            return first;
        }
        if (index != 1 || second == null) {
            throw new IndexOutOfBoundsException("item " + index + " of a tuple of " + size());
        }
        return second;
    }

    /** The items; not open to change. */
    public List<PyValue> items() {
        return new Items();
    }

    private final class Items extends AbstractList<PyValue> implements RandomAccess {
        @Override
        public PyValue get(int index) {
            return PyTuple.this.get(index);
        }

        @Override
        public int size() {
            return PyTuple.this.size();
        }

        @Override
        public Object[] toArray() {
            return many != null ? Arrays.copyOf(many, many.length, Object[].class) : super.toArray();
        }
    }
}
