package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/** The pickle machine's stack and memo, where an operation that asks for something absent is an error. */
final class PickleMachine {
    private final PickleStack stack = new PickleStack();
    private final PickleMemo memo = new PickleMemo();
    private final PickleMeter meter;
    /** Memo entries that are fetched somewhere, if only these are to be kept. */
    private final Optional<BitSet> fetched;

    private final boolean keepsAll;
    private final long mostMemoized;

    PickleMachine(PickleMeter meter, Optional<BitSet> fetched) {
        this.meter = meter;
        this.fetched = fetched;
        this.keepsAll = fetched.isEmpty();
        this.mostMemoized = meter.limits().memoEntries();
    }

    void push(PyValue value) {
        stack.push(value);
    }

    PyValue pop() throws CheckpointException {
        PyValue value = stack.popOrNull();
        if (value == null) {
            throw underflow();
        }
        return value;
    }

    PyValue peek() throws CheckpointException {
        PyValue value = stack.peekOrNull();
        if (value == null) {
            throw underflow();
        }
        return value;
    }

    void popOrUnmark() throws CheckpointException {
        if (stack.markOnTop()) {
            stack.dropToMark();
        } else {
            pop();
        }
    }

    void mark() throws CheckpointException {
        meter.grow(PickleMeter.SLOT);
        stack.mark(meter.outsideMemo());
    }

    void requireMark() throws CheckpointException {
        if (!stack.hasMark()) {
            throw meter.malformed("the operation needs a mark on the stack, but there is none");
        }
    }

    void dropToMark() throws CheckpointException {
        requireMark();
        stack.dropToMark();
    }

    /** Drops what lies above the mark and forgets all that was made since. */
    void forgetToMark() throws CheckpointException {
        meter.forgetSince(stack.markNote());
        dropToMark();
    }

    PyValue belowMark() throws CheckpointException {
        PyValue value = stack.belowMarkOrNull();
        if (value == null) {
            throw underflow();
        }
        return value;
    }

    int countAboveMark() {
        return stack.countAboveMark();
    }

    /** Value number {@code index} above the mark. */
    PyValue aboveMark(int index) {
        return stack.aboveMark(index);
    }

    /** A view of the values above the mark, good until the next change. */
    List<PyValue> aboveMark() {
        return stack.aboveMark();
    }

    /** The same view, counted as slots of the container that it goes into. */
    List<PyValue> values() throws CheckpointException {
        requireMark();
        meter.grow((long) PickleMeter.SLOT * stack.countAboveMark());
        return stack.aboveMark();
    }

    /** A copy of them, counted in the same way. */
    PyValue[] copiedValues() throws CheckpointException {
        requireMark();
        meter.grow((long) PickleMeter.SLOT * stack.countAboveMark());
        return stack.copyAboveMark();
    }

    /** Adds the keys and values above the mark to a dict. */
    void fill(PyDict dict) throws CheckpointException {
        int count = pairsAboveMark();
        dict.reserve(count);
        for (int i = 0; i < count; i++) {
            dict.add(stack.aboveMark(2 * i), stack.aboveMark(2 * i + 1));
        }
    }

    /** The keys and values above the mark. */
    List<PyEntry> entries() throws CheckpointException {
        int count = pairsAboveMark();
        List<PyEntry> entries = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            entries.add(new PyEntry(stack.aboveMark(2 * i), stack.aboveMark(2 * i + 1)));
        }
        return entries;
    }

    private int pairsAboveMark() throws CheckpointException {
        requireMark();
        int count = stack.countAboveMark();
        if (count % 2 != 0) {
            throw meter.malformed("a key has no value");
        }
        meter.grow((long) PickleMeter.SLOT * count);
        return count / 2;
    }

    /** The value of a memo entry. */
    PyValue get(long index) throws CheckpointException {
        PyValue value = memo.get(index);
        if (value == null) {
            throw meter.malformed("memo entry " + index + " is fetched, but was never stored");
        }
        return value;
    }

    /** Stores the top value under the next number. */
    void memoize() throws CheckpointException {
        put(memo.size());
    }

    /** Stores the top value in the memo. */
    void put(long index) throws CheckpointException {
        if (memo.size() >= mostMemoized) {
            throw meter.limit("the memo has more than " + mostMemoized + " entries");
        }
        PyValue value = peek();
        if (keepsAll || isKept(index, value)) {
            meter.grow(PickleMeter.SLOT);
            memo.put(index, value);
        }
    }

    /** False for what nobody fetches, which is only counted. */
    private boolean isKept(long index, PyValue value) {
        if (PickleReferences.mayDrop(index) && !fetched.orElseThrow().get((int) index)) {
            memo.drop(index);
            return false;
        }
        meter.keepInMemo(2 * PickleMeter.NODE
                + (value instanceof PyStr text ? text.value().length() : 0));
        return true;
    }

    private CheckpointException underflow() {
        return meter.malformed("the operation needs a value on the stack, but there is none");
    }
}
