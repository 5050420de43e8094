package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.util.List;

/** A value that is being written: gives its parts one by one, and writes what stands between and after them. */
abstract sealed class PickleFrame {
    /** CPython's number of items per operation. */
    private static final int BATCH = 1000;

    /** The next part to write, or null when all is written. */
    abstract PyValue advance(PickleWriter writer) throws CheckpointException;

    /** A persistent reference; never memoised. */
    static final class Reference extends PickleFrame {
        private final PyPersistent reference;
        private boolean done;

        Reference(PyPersistent reference) {
            this.reference = reference;
        }

        @Override
        PyValue advance(PickleWriter writer) throws CheckpointException {
            if (!done) {
                done = true;
                return writer.idOf(reference);
            }
            writer.out().op(Opcode.BINPERSID);
            return null;
        }
    }

    /** A tuple that is not empty. */
    static final class Tuple extends PickleFrame {
        private static final int[] SHORT = {Opcode.EMPTY_TUPLE, Opcode.TUPLE1, Opcode.TUPLE2, Opcode.TUPLE3};

        private final PyTuple tuple;
        private int next;

        Tuple(PyTuple tuple) {
            this.tuple = tuple;
        }

        @Override
        PyValue advance(PickleWriter writer) throws CheckpointException {
            int size = tuple.items().size();
            boolean marked = size >= SHORT.length;
            if (next == 0 && marked) {
                writer.out().op(Opcode.MARK);
            }
            if (next < size) {
                return tuple.items().get(next++);
            }
            if (!writer.isMemoized(tuple)) {
                writer.out().op(marked ? Opcode.TUPLE : SHORT[size]);
                writer.memoize(tuple);
                return null;
            }
            // One of the items holds the tuple: it is complete by now, and this second copy of its items is dropped.
            if (marked) {
                writer.out().op(Opcode.POP_MARK);
            } else {
                for (int i = 0; i < size; i++) {
                    writer.out().op(Opcode.POP);
                }
            }
            writer.get(tuple);
            return null;
        }
    }

    /** Items or entries added to the value on the stack, some at a time. */
    static final class Batches extends PickleFrame {
        private final List<PyValue> values;
        private final List<PyEntry> entries;
        private final boolean exact;
        private final int one;
        private final int many;
        private int next;
        private int batchEnd;
        private boolean valueIsNext;
        private boolean marked;

        private Batches(List<PyValue> values, List<PyEntry> entries, boolean exact, int one, int many) {
            this.values = values;
            this.entries = entries;
            this.exact = exact;
            this.one = one;
            this.many = many;
        }

        static Batches ofList(List<PyValue> items) {
            return new Batches(items, List.of(), true, Opcode.APPEND, Opcode.APPENDS);
        }

        static Batches ofDict(List<PyEntry> entries) {
            return new Batches(List.of(), entries, true, Opcode.SETITEM, Opcode.SETITEMS);
        }

        static Batches ofStep(PyObject.Step step) {
            if (step instanceof PyObject.Items items) {
                return new Batches(List.of(), items.entries(), false, Opcode.SETITEM, Opcode.SETITEMS);
            }
            if (step instanceof PyObject.Appends appends) {
                return new Batches(appends.values(), List.of(), false, Opcode.APPEND, Opcode.APPENDS);
            }
            // There is no operation that adds one item to a set.
            return new Batches(((PyObject.Adds) step).values(), List.of(), true, Opcode.ADDITEMS, Opcode.ADDITEMS);
        }

        @Override
        PyValue advance(PickleWriter writer) throws CheckpointException {
            if (valueIsNext) {
                valueIsNext = false;
                return entries.get(next++).value();
            }
            int total = Math.max(values.size(), entries.size());
            if (next == batchEnd) {
                if (batchEnd > 0) {
                    writer.out().op(marked ? many : one);
                }
                if (next == total) {
                    return null;
                }
                batchEnd = Math.min(total, next + BATCH);
                // CPython opens a batch for a single left-over item only in exact lists and dicts.
                marked = one == many || total > 1 && (exact || batchEnd - next > 1);
                if (marked) {
                    writer.out().op(Opcode.MARK);
                }
            }
            if (entries.isEmpty()) {
                return values.get(next++);
            }
            valueIsNext = true;
            return entries.get(next).key();
        }
    }

    /** An object: its class and arguments, the call, and then each step. */
    static final class Made extends PickleFrame {
        private final PyValue memoizedAs;
        private final PyObject object;
        private int part;
        private int step;
        private Batches inner;
        private boolean stateIsOpen;

        private Made(PyValue memoizedAs, PyObject object) {
            this.memoizedAs = memoizedAs;
            this.object = object;
        }

        static Made of(PyObject object) {
            return new Made(object, object);
        }

        /** A value that protocol 2 can only express as a call. */
        static Made of(PyValue value, PyGlobal callable, PyTuple args) {
            return new Made(value, new PyObject(PyObject.Kind.REDUCE, callable, args));
        }

        @Override
        PyValue advance(PickleWriter writer) throws CheckpointException {
            return object.kind() == PyObject.Kind.INSTANCE ? instance(writer) : call(writer);
        }

        private PyValue call(PickleWriter writer) throws CheckpointException {
            switch (part++) {
                case 0:
                    return object.callable();
                case 1:
                    return object.args();
                case 2:
                    if (object.kind() == PyObject.Kind.NEWOBJ_EX) {
                        return object.kwargs();
                    }
                    part++;
                // fall through
                case 3:
                    return made(writer) ? steps(writer) : null;
                default:
                    return steps(writer);
            }
        }

        private PyValue instance(PickleWriter writer) throws CheckpointException {
            List<PyValue> args = object.args() instanceof PyTuple tuple ? tuple.items() : List.of(object.args());
            if (part == 0) {
                writer.out().op(Opcode.MARK);
                part++;
                return object.callable();
            }
            if (part <= args.size()) {
                return args.get(part++ - 1);
            }
            if (part++ == args.size() + 1) {
                return made(writer) ? steps(writer) : null;
            }
            return steps(writer);
        }

        /** Writes the call; false if the object was completed meanwhile by something inside its own arguments. */
        private boolean made(PickleWriter writer) throws CheckpointException {
            writer.out()
                    .op(
                            switch (object.kind()) {
                                case REDUCE -> Opcode.REDUCE;
                                case NEWOBJ -> Opcode.NEWOBJ;
                                case NEWOBJ_EX -> Opcode.NEWOBJ_EX;
                                case INSTANCE -> Opcode.OBJ;
                            });
            if (writer.isMemoized(memoizedAs)) {
                writer.out().op(Opcode.POP);
                writer.get(memoizedAs);
                return false;
            }
            writer.memoize(memoizedAs);
            return true;
        }

        private PyValue steps(PickleWriter writer) throws CheckpointException {
            if (stateIsOpen) {
                stateIsOpen = false;
                writer.out().op(Opcode.BUILD);
            }
            while (true) {
                PyValue next = inner == null ? null : inner.advance(writer);
                if (next != null) {
                    return next;
                }
                inner = null;
                if (step == object.stepCount()) {
                    return null;
                }
                PyObject.Step now = object.step(step++);
                if (now instanceof PyObject.State state) {
                    stateIsOpen = true;
                    return state.value();
                }
                inner = Batches.ofStep(now);
            }
        }
    }
}
