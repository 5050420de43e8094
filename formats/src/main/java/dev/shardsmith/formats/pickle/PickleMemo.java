package dev.shardsmith.formats.pickle;

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/** The pickle machine's memo: an array for the usual dense numbers, a map for others, so that no number costs memory. */
final class PickleMemo {
    private static final int SLACK = 1024;

    private PyValue[] dense = new PyValue[64];
    private final Map<Long, PyValue> sparse = new HashMap<>();
    private final BitSet dropped = new BitSet();
    private int count;

    /** Number of entries. */
    int size() {
        return count;
    }

    void put(long index, PyValue value) {
        if (index < dense.length && sparse.isEmpty()) {
            int slot = (int) index;
            if (dense[slot] == null) {
                count++;
            }
            dense[slot] = value;
        } else {
            putElsewhere(index, value);
        }
    }

    private void putElsewhere(long index, PyValue value) {
        if (index < dense.length || index <= 2L * count + SLACK) {
            int slot = (int) index;
            if (slot >= dense.length) {
                dense = Arrays.copyOf(
                        dense, (int) Math.min(Integer.MAX_VALUE - 8L, Math.max(slot + 1L, dense.length * 3L / 2)));
            }
            if (dense[slot] == null && (sparse.isEmpty() || sparse.remove(index) == null)) {
                count++;
            }
            dense[slot] = value;
        } else if (sparse.put(index, value) == null) {
            count++;
        }
    }

    /** Counts an entry that is never fetched. */
    void drop(long index) {
        if (!dropped.get((int) index)) {
            dropped.set((int) index);
            count++;
        }
    }

    /** The value, or null if there is none. */
    PyValue get(long index) {
        PyValue value = index >= 0 && index < dense.length ? dense[(int) index] : null;
        return value != null || sparse.isEmpty() ? value : sparse.get(index);
    }
}
