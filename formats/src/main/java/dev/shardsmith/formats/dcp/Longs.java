package dev.shardsmith.formats.dcp;

import java.util.Arrays;

/** A growing array of longs: a million boxes as objects would take gigabytes. */
final class Longs {
    private long[] values = new long[64];
    private int size;

    int size() {
        return size;
    }

    long get(int index) {
        return values[index];
    }

    void set(int index, long value) {
        values[index] = value;
    }

    /** Appends the values and gives the index of the first. */
    int add(long... more) {
        if (more.length > values.length - size) {
            values = Arrays.copyOf(values, Math.max(size + more.length, values.length + values.length / 2));
        }
        System.arraycopy(more, 0, values, size, more.length);
        size += more.length;
        return size - more.length;
    }

    long[] copy(int from, int count) {
        return Arrays.copyOfRange(values, from, from + count);
    }

    boolean equalAt(int from, long[] other) {
        return Arrays.equals(values, from, from + other.length, other, 0, other.length);
    }

    void trim() {
        values = Arrays.copyOf(values, size);
    }
}
