package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes a graph as a pickle of protocol 2, by the rules of CPython's pickler, so that every PyTorch can load it.
 *
 * <p>What was shared stays shared, cycles stay cycles, and objects are made and filled in the order they were read. What
 * protocol 2 has no operation for is written as CPython would: bytes as {@code _codecs.encode}, sets as calls. Depth costs
 * no Java stack.
 */
public final class PickleWriter {
    private static final int PROTOCOL = 2;

    private static final PyGlobal ENCODE = new PyGlobal("_codecs", "encode");
    private static final PyGlobal GETATTR = new PyGlobal("__builtin__", "getattr");
    private static final PyGlobal BYTEARRAY = new PyGlobal("__builtin__", "bytearray");
    private static final PyGlobal SET = new PyGlobal("__builtin__", "set");
    private static final PyGlobal FROZENSET = new PyGlobal("__builtin__", "frozenset");

    private final PyStr latin1 = new PyStr("latin1");
    private final PickleOutput out = new PickleOutput();
    private final Map<PyValue, Integer> memo = new IdentityHashMap<>();
    private final Map<PyGlobal, Integer> globalMemo = new HashMap<>();
    private int memoized;

    /** What is being written, innermost last. */
    private final ArrayDeque<PickleFrame> frames = new ArrayDeque<>();

    /** For values that are complete before they are memoised: the memo's size when each was last begun. */
    private final Map<PyValue, Integer> begun = new IdentityHashMap<>();

    private final Map<PySet, PyTuple> setArguments = new IdentityHashMap<>();

    private final PersistentIds ids;

    /** Nodes that are written in place of others, by identity. */
    private final Map<PyValue, PyValue> substitutes;

    private PickleWriter(PersistentIds ids, Map<PyValue, PyValue> substitutes) {
        this.ids = ids;
        this.substitutes = substitutes;
    }

    /** Says how references to the outside are written. */
    @FunctionalInterface
    public interface PersistentIds {
        /** The id to write for a reference; called for each, in the order of the pickle. */
        PyValue idOf(PyPersistent reference) throws CheckpointException;
    }

    /**
     * The pickle of a graph.
     *
     * @throws CheckpointException if protocol 2 cannot express the graph, or the result would be longer than 2 GiB
     */
    public static byte[] write(PyValue root) throws CheckpointException {
        return write(root, PyPersistent::id);
    }

    /** The pickle of a graph, with other ids for its references to the outside. */
    public static byte[] write(PyValue root, PersistentIds ids) throws CheckpointException {
        return write(root, ids, Map.of());
    }

    /**
     * The pickle of a graph in which some nodes are replaced.
     *
     * @param ids says how references to the outside are written
     * @param substitutes what is written in place of a node, by identity; the graph itself stays as it is
     * @throws CheckpointException if protocol 2 cannot express the graph, or the result would be longer than 2 GiB
     */
    public static byte[] write(PyValue root, PersistentIds ids, Map<PyValue, PyValue> substitutes)
            throws CheckpointException {
        return new PickleWriter(ids, new IdentityHashMap<>(substitutes)).run(root);
    }

    private byte[] run(PyValue root) throws CheckpointException {
        out.op(Opcode.PROTO);
        out.int8(PROTOCOL);
        begin(root);
        while (!frames.isEmpty()) {
            PyValue next = frames.getLast().advance(this);
            if (next == null) {
                frames.removeLast();
            } else {
                begin(next);
            }
        }
        out.op(Opcode.STOP);
        return out.toBytes();
    }

    PickleOutput out() {
        return out;
    }

    PyValue idOf(PyPersistent reference) throws CheckpointException {
        return ids.idOf(reference);
    }

    boolean isMemoized(PyValue value) {
        return memo.containsKey(value);
    }

    void get(PyValue value) throws CheckpointException {
        out.memo(Opcode.BINGET, Opcode.LONG_BINGET, memo.get(value));
    }

    void memoize(PyValue value) throws CheckpointException {
        memo.put(value, memoized);
        begun.remove(value);
        put();
    }

    private void put() throws CheckpointException {
        out.memo(Opcode.BINPUT, Opcode.LONG_BINPUT, memoized++);
    }

    private void begin(PyValue node) throws CheckpointException {
        PyValue value = substitutes.getOrDefault(node, node);
        if (value instanceof PyInt number) {
            out.integer(number);
        } else if (value instanceof PyBool bool) {
            out.op(bool.value() ? Opcode.NEWTRUE : Opcode.NEWFALSE);
        } else if (value instanceof PyNone) {
            out.op(Opcode.NONE);
        } else if (value instanceof PyFloat real) {
            out.real(real.value());
        } else if (value instanceof PyGlobal global) {
            global(Python2Names.toPython2(global));
        } else if (value instanceof PyPersistent reference) {
            frames.addLast(new PickleFrame.Reference(reference));
        } else if (value instanceof PyTuple tuple && tuple.items().isEmpty()) {
            out.op(Opcode.EMPTY_TUPLE);
        } else if (isMemoized(value)) {
            get(value);
        } else {
            beginMemoized(value);
        }
    }

    private void beginMemoized(PyValue value) throws CheckpointException {
        if (value instanceof PyStr text) {
            out.string(text.value());
            memoize(value);
        } else if (value instanceof PyTuple tuple) {
            checkProgress(value);
            frames.addLast(new PickleFrame.Tuple(tuple));
        } else if (value instanceof PyList list) {
            out.op(Opcode.EMPTY_LIST);
            memoize(value);
            frames.addLast(PickleFrame.Batches.ofList(list.items()));
        } else if (value instanceof PyDict dict) {
            out.op(Opcode.EMPTY_DICT);
            memoize(value);
            frames.addLast(PickleFrame.Batches.ofDict(dict.entries()));
        } else if (value instanceof PyObject object) {
            checkProgress(value);
            frames.addLast(PickleFrame.Made.of(object));
        } else if (value instanceof PySet set) {
            checkProgress(value);
            // The same list each time: a set met inside itself must find it begun, or it would go on for ever.
            PyTuple args = setArguments.computeIfAbsent(set, made -> PyTuple.of(new PyList(made.items())));
            frames.addLast(PickleFrame.Made.of(set, set.frozen() ? FROZENSET : SET, args));
        } else if (value instanceof PyBytes bytes) {
            beginBytes(bytes);
        }
    }

    private void beginBytes(PyBytes bytes) throws CheckpointException {
        switch (bytes.kind()) {
            case PYTHON2_STR -> {
                out.python2String(bytes.bytes());
                memoize(bytes);
            }
            case BYTES -> {
                PyStr codePoints = new PyStr(new String(bytes.bytes(), StandardCharsets.ISO_8859_1));
                frames.addLast(PickleFrame.Made.of(bytes, ENCODE, PyTuple.of(codePoints, latin1)));
            }
            case BYTEARRAY -> {
                PyTuple args = bytes.bytes().length == 0
                        ? PyTuple.EMPTY
                        : PyTuple.of(new PyBytes(PyBytes.Kind.BYTES, bytes.bytes()));
                frames.addLast(PickleFrame.Made.of(bytes, BYTEARRAY, args));
            }
        }
    }

    /** Classes are one object however often they are named. A nested class has to be fetched from the outer one. */
    private void global(PyGlobal global) throws CheckpointException {
        Integer index = globalMemo.get(global);
        if (index != null) {
            out.memo(Opcode.BINGET, Opcode.LONG_BINGET, index);
            return;
        }
        List<String> path = List.of(global.name().split("\\.", -1));
        if (path.size() == 1) {
            globalMemo.put(global, memoized);
            out.global(global.module(), global.name());
            put();
            return;
        }
        PyGlobal outer = new PyGlobal(global.module(), String.join(".", path.subList(0, path.size() - 1)));
        PyObject fetch =
                new PyObject(PyObject.Kind.REDUCE, GETATTR, PyTuple.of(outer, new PyStr(path.get(path.size() - 1))));
        frames.addLast(PickleFrame.Made.of(fetch));
    }

    /**
     * Values that are memoised only when complete may be met again inside themselves, but each time something inside must
     * have been memoised meanwhile, or it would go on for ever.
     */
    private void checkProgress(PyValue value) throws CheckpointException {
        Integer before = begun.put(value, memo.size());
        if (before != null && before == memo.size()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    "",
                    value.describe() + " contains itself before it is complete, which no pickle can express");
        }
    }
}
