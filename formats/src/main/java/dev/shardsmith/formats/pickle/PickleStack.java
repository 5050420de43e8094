package dev.shardsmith.formats.pickle;

import java.util.Arrays;
import java.util.List;

/** The pickle machine's stack: values, and the marks that stand between them. Nothing is popped from below a mark. */
final class PickleStack {
    private PyValue[] values = new PyValue[64];
    private int size;
    private int[] marks = new int[16];
    private long[] notes = new long[16];
    private int markCount;

    /** The height below which nothing may be popped: that of the last mark. */
    private int fence;

    void push(PyValue value) {
        if (size == values.length) {
            values = Arrays.copyOf(values, Math.multiplyExact(size, 2));
        }
        values[size++] = value;
    }

    /** The top value, or null if there is none above the last mark. */
    PyValue popOrNull() {
        if (size == fence) {
            return null;
        }
        PyValue value = values[--size];
        values[size] = null;
        return value;
    }

    /** The top value left in place, or null if there is none above the last mark. */
    PyValue peekOrNull() {
        return size == fence ? null : values[size - 1];
    }

    /** Sets a mark with a number to remember. */
    void mark(long note) {
        if (markCount == marks.length) {
            marks = Arrays.copyOf(marks, Math.multiplyExact(markCount, 2));
            notes = Arrays.copyOf(notes, marks.length);
        }
        notes[markCount] = note;
        marks[markCount++] = size;
        fence = size;
    }

    /** The number that the last mark remembers. */
    long markNote() {
        return notes[markCount - 1];
    }

    boolean hasMark() {
        return markCount > 0;
    }

    /** True if the last mark is the topmost thing. */
    boolean markOnTop() {
        return markCount > 0 && marks[markCount - 1] == size;
    }

    /** The value just below the last mark, or null if there is none above the mark before. */
    PyValue belowMarkOrNull() {
        int before = markCount < 2 ? 0 : marks[markCount - 2];
        return markCount == 0 || fence == before ? null : values[fence - 1];
    }

    /** How many values lie above the last mark. */
    int countAboveMark() {
        return size - fence;
    }

    /** A view of the values above the last mark, good until the next change. */
    List<PyValue> aboveMark() {
        return Arrays.asList(values).subList(fence, size);
    }

    /** A copy of the values above the last mark. */
    PyValue[] copyAboveMark() {
        return Arrays.copyOfRange(values, fence, size);
    }

    /** Value number {@code index} above the last mark. */
    PyValue aboveMark(int index) {
        return values[fence + index];
    }

    /** Removes the last mark and all above it. */
    void dropToMark() {
        while (size > fence) {
            values[--size] = null;
        }
        markCount--;
        fence = markCount == 0 ? 0 : marks[markCount - 1];
    }
}
