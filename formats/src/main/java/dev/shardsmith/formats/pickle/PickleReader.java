package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * Reads a pickle of any protocol into a graph of {@link PyValue} nodes; nothing in it is looked up or called.
 *
 * <p>All operations are accepted under every announced protocol, as CPython does, except those that refer to something
 * outside the stream (extension codes and out-of-band buffers). Depth costs no Java stack.
 */
public final class PickleReader {
    private static final PickleListener NOBODY = new PickleListener() {
        @Override
        public void imported(PyGlobal global, long offset) {}

        @Override
        public void called(PyObject.Kind kind, PyValue callable, PyValue args, long offset) {}

        @Override
        public void built(PyObject object, long offset) {}
    };

    static final int HIGHEST_PROTOCOL = 5;

    private final PickleInput in;
    private final PickleMeter meter;
    private final PickleOperands operands;
    private final PickleMachine machine;
    private final PickleContainers containers;
    private final PickleCalls calls;
    private int protocol;

    private PickleReader(
            ByteSource source,
            long start,
            PickleLimits limits,
            PickleListener listener,
            Optional<PickleConsumer> consumer,
            Optional<BitSet> fetched) {
        this.in = new PickleInput(source, start, source.size());
        this.meter = new PickleMeter(source.name(), limits);
        this.operands = new PickleOperands(in, meter);
        this.machine = new PickleMachine(meter, fetched);
        this.containers = new PickleContainers(machine, meter, consumer);
        this.calls = new PickleCalls(machine, meter, listener);
    }

    /** Reads the pickle that begins at byte {@code start} of a source; what follows its STOP is left alone. */
    public static Unpickled read(ByteSource source, long start, PickleLimits limits) throws IOException {
        return read(source, start, limits, NOBODY);
    }

    /** Reads a pickle and tells a listener about the names and calls in it as they come. */
    public static Unpickled read(ByteSource source, long start, PickleLimits limits, PickleListener listener)
            throws IOException {
        checkStart(source, start);
        return new PickleReader(source, start, limits, listener, Optional.empty(), Optional.empty()).run(start);
    }

    /** Reads a large pickle, most of which a consumer takes away as it comes; goes through it twice. */
    public static Unpickled read(ByteSource source, long start, PickleLimits limits, PickleConsumer consumer)
            throws IOException {
        checkStart(source, start);
        BitSet fetched = PickleReferences.scan(source, start);
        return new PickleReader(source, start, limits, NOBODY, Optional.of(consumer), Optional.of(fetched)).run(start);
    }

    static void checkStart(ByteSource source, long start) throws CheckpointException {
        if (start < 0 || start > source.size()) {
            throw CheckpointException.truncated(source.name(), start, "a pickle should begin here, past the end");
        }
    }

    /** Reads the pickle that a source begins with, within the default limits. */
    public static Unpickled read(ByteSource source) throws IOException {
        return read(source, 0, PickleLimits.defaults());
    }

    private Unpickled run(long start) throws IOException {
        long most = meter.limits().pickleBytes();
        long last = most > Long.MAX_VALUE - start ? Long.MAX_VALUE : start + most;
        while (true) {
            long at = in.position();
            meter.beginOperation(at);
            if (at >= last) {
                throw meter.limit("the pickle is longer than the limit of " + most + " bytes");
            }
            int op = in.u8();
            if (op == Opcode.STOP) {
                PyValue value = machine.pop();
                return new Unpickled(value, in.position(), protocol);
            }
            step(op);
        }
    }

    /**
     * The operations that pickles are mostly made of, the commonest first: the first compiler, which is the only one that a
     * command of a second gets, makes a switch into questions asked one after the other.
     */
    private void step(int op) throws IOException {
        if (op == Opcode.LONG_BINPUT) {
            machine.put(in.u32());
        } else if (op == Opcode.BINGET) {
            machine.push(machine.get(in.u8()));
        } else if (op == Opcode.MEMOIZE) {
            machine.memoize();
        } else if (op == Opcode.BININT1) {
            machine.push(PyInt.of(in.u8()));
        } else if (op == Opcode.BINUNICODE) {
            machine.push(operands.string(in.u32()));
        } else if (op == Opcode.SHORT_BINUNICODE) {
            machine.push(operands.string(in.u8()));
        } else if (op == Opcode.MARK) {
            machine.mark();
        } else if (op == Opcode.TUPLE) {
            containers.tupleAboveMark();
        } else if (op == Opcode.TUPLE2) {
            containers.tuple(2);
        } else if (op == Opcode.REDUCE) {
            calls.object(PyObject.Kind.REDUCE, false);
        } else if (op == Opcode.BINFLOAT) {
            machine.push(meter.node(new PyFloat(Double.longBitsToDouble(in.bigEndian64()))));
        } else {
            usualStep(op);
        }
    }

    private void usualStep(int op) throws IOException {
        switch (op) {
            case Opcode.BINPUT -> machine.put(in.u8());
            case Opcode.LONG_BINGET -> machine.push(machine.get(in.u32()));
            case Opcode.BININT2 -> machine.push(PyInt.of(in.u16()));
            case Opcode.BININT -> machine.push(PyInt.of(in.i32()));
            case Opcode.BINUNICODE8 -> machine.push(operands.string(in.i64()));
            case Opcode.TUPLE1 -> containers.tuple(1);
            case Opcode.TUPLE3 -> containers.tuple(3);
            case Opcode.EMPTY_TUPLE -> machine.push(PyTuple.EMPTY);
            case Opcode.NEWOBJ -> calls.object(PyObject.Kind.NEWOBJ, false);
            case Opcode.NEWOBJ_EX -> calls.object(PyObject.Kind.NEWOBJ_EX, true);
            case Opcode.BUILD -> calls.build();
            case Opcode.BINPERSID -> machine.push(meter.node(new PyPersistent(machine.pop())));
            case Opcode.NONE -> machine.push(PyNone.NONE);
            case Opcode.NEWTRUE -> machine.push(PyBool.TRUE);
            case Opcode.NEWFALSE -> machine.push(PyBool.FALSE);
            case Opcode.EMPTY_DICT -> machine.push(meter.node(new PyDict()));
            case Opcode.EMPTY_LIST -> machine.push(meter.node(new PyList()));
            case Opcode.EMPTY_SET -> machine.push(meter.node(new PySet(false, List.of())));
            case Opcode.SETITEMS -> containers.setItems();
            case Opcode.SETITEM -> containers.setItem();
            case Opcode.APPENDS -> containers.appends();
            case Opcode.APPEND -> containers.append();
            case Opcode.ADDITEMS -> containers.addItems();
            case Opcode.GLOBAL -> machine.push(calls.global(operands.name(), operands.name()));
            case Opcode.STACK_GLOBAL -> calls.stackGlobal();
            case Opcode.LONG1 -> machine.push(operands.integer(in.u8()));
            case Opcode.LONG4 -> machine.push(operands.integer(in.i32()));
            case Opcode.BINBYTES -> machine.push(operands.bytes(PyBytes.Kind.BYTES, in.u32()));
            case Opcode.SHORT_BINBYTES -> machine.push(operands.bytes(PyBytes.Kind.BYTES, in.u8()));
            case Opcode.BINBYTES8 -> machine.push(operands.bytes(PyBytes.Kind.BYTES, in.i64()));
            case Opcode.BYTEARRAY8 -> machine.push(operands.bytes(PyBytes.Kind.BYTEARRAY, in.i64()));
            case Opcode.SHORT_BINSTRING -> machine.push(operands.bytes(PyBytes.Kind.PYTHON2_STR, in.u8()));
            case Opcode.BINSTRING -> machine.push(operands.bytes(PyBytes.Kind.PYTHON2_STR, in.i32()));
            case Opcode.PROTO -> proto();
            case Opcode.FRAME -> in.checkLength(in.i64());
            default -> rareStep(op);
        }
    }

    /** Operations that CPython's picklers write only in protocols 0 and 1, or hardly ever. */
    private void rareStep(int op) throws IOException {
        switch (op) {
            case Opcode.POP -> machine.popOrUnmark();
            case Opcode.POP_MARK -> machine.dropToMark();
            case Opcode.DUP -> machine.push(machine.peek());
            case Opcode.INT -> machine.push(operands.intLine());
            case Opcode.LONG -> machine.push(operands.longLine());
            case Opcode.FLOAT -> machine.push(operands.floatLine());
            case Opcode.STRING -> machine.push(operands.quotedLine());
            case Opcode.UNICODE -> machine.push(operands.escapedLine());
            case Opcode.GET -> machine.push(machine.get(operands.memoIndex()));
            case Opcode.PUT -> machine.put(operands.memoIndex());
            case Opcode.PERSID -> machine.push(meter.node(new PyPersistent(new PyStr(operands.line()))));
            case Opcode.DICT -> containers.dictAboveMark();
            case Opcode.LIST -> containers.listAboveMark();
            case Opcode.FROZENSET -> containers.frozenSetAboveMark();
            case Opcode.INST -> calls.instance(calls.global(operands.name(), operands.name()));
            case Opcode.OBJ -> calls.instanceAboveMark();
            case Opcode.EXT1, Opcode.EXT2, Opcode.EXT4 ->
                throw meter.unsupported(
                        "the pickle uses an extension code, whose meaning only the program that wrote it knows");
            case Opcode.NEXT_BUFFER, Opcode.READONLY_BUFFER ->
                throw meter.unsupported("the pickle refers to a buffer outside the file");
            default -> throw meter.malformed("0x%02x is no pickle operation".formatted(op));
        }
    }

    private void proto() throws IOException {
        int announced = in.u8();
        if (announced > HIGHEST_PROTOCOL) {
            throw meter.unsupported(
                    "pickle protocol " + announced + " is newer than the newest known, " + HIGHEST_PROTOCOL);
        }
        protocol = announced;
    }
}
