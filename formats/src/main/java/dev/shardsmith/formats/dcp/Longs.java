package dev.shardsmith.formats.dcp;

import java.util.Arrays;

/** A growing array of longs: a million boxes as objects would take gigabytes. It grows by blocks, so nothing is copied. */
final class Longs {
    private static final int BLOCK_BITS = 13;
    private static final int BLOCK = 1 << BLOCK_BITS;

    private long[][] blocks = new long[4][];
    private int size;

    int size() {
        return size;
    }

    long get(int index) {
        return blocks[index >>> BLOCK_BITS][index & BLOCK - 1];
    }

    void set(int index, long value) {
        blocks[index >>> BLOCK_BITS][index & BLOCK - 1] = value;
    }

    /** Appends zeros and gives the index of the first. */
    int extend(int count) {
        int end = Math.addExact(size, count);
        int needed = (end + BLOCK - 1 >>> BLOCK_BITS);
        if (needed > blocks.length) {
            blocks = Arrays.copyOf(blocks, Math.max(needed, 2 * blocks.length));
        }
        for (int block = needed - 1; block >= 0 && blocks[block] == null; block--) {
            blocks[block] = new long[BLOCK];
        }
        size = end;
        return end - count;
    }

    /** Appends the values and gives the index of the first. */
    int add(long[] more) {
        int at = extend(more.length);
        for (int i = 0; i < more.length; i++) {
            set(at + i, more[i]);
        }
        return at;
    }

    long[] copy(int from, int count) {
        long[] copy = new long[count];
        for (int i = 0; i < count; i++) {
            copy[i] = get(from + i);
        }
        return copy;
    }

    boolean equalAt(int from, long[] other) {
        for (int i = 0; i < other.length; i++) {
            if (get(from + i) != other[i]) {
                return false;
            }
        }
        return true;
    }
}
