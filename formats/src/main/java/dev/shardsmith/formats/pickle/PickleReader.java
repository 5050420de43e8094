package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    private static final PickleConsumer KEEP_ALL = new PickleConsumer() {
        @Override
        public boolean entries(List<PyEntry> entries) {
            return false;
        }

        @Override
        public boolean values(List<PyValue> values) {
            return false;
        }
    };

    private static final int HIGHEST_PROTOCOL = 5;

    /** Rough sizes of nodes on the heap, in bytes; only for the limit. */
    private static final int NODE = 32;

    private static final int SLOT = 8;

    private final String source;
    private final PickleLimits limits;
    private final PickleListener listener;
    private final PickleConsumer consumer;
    /** Memo entries that are fetched somewhere, if only these are to be kept. */
    private final Optional<BitSet> fetched;

    private final PickleInput in;
    private final PickleStack stack = new PickleStack();
    private final PickleMemo memo = new PickleMemo();
    private final Map<PyGlobal, PyGlobal> globals = new HashMap<>();
    private long graphBytes;
    /** The share of graphBytes that the memo holds on to. */
    private long memoBytes;

    private int protocol;
    private long opOffset;

    private PickleReader(
            ByteSource source,
            long start,
            PickleLimits limits,
            PickleListener listener,
            PickleConsumer consumer,
            Optional<BitSet> fetched) {
        this.source = source.name();
        this.limits = limits;
        this.listener = listener;
        this.consumer = consumer;
        this.fetched = fetched;
        this.in = new PickleInput(source, start, source.size());
    }

    /** Reads the pickle that begins at byte {@code start} of a source; what follows its STOP is left alone. */
    public static Unpickled read(ByteSource source, long start, PickleLimits limits) throws IOException {
        return read(source, start, limits, NOBODY);
    }

    /** Reads a pickle and tells a listener about the names and calls in it as they come. */
    public static Unpickled read(ByteSource source, long start, PickleLimits limits, PickleListener listener)
            throws IOException {
        checkStart(source, start);
        return new PickleReader(source, start, limits, listener, KEEP_ALL, Optional.empty()).run(start);
    }

    /** Reads a large pickle, most of which a consumer takes away as it comes; goes through it twice. */
    public static Unpickled read(ByteSource source, long start, PickleLimits limits, PickleConsumer consumer)
            throws IOException {
        checkStart(source, start);
        BitSet fetched = PickleReferences.scan(source, start);
        return new PickleReader(source, start, limits, NOBODY, consumer, Optional.of(fetched)).run(start);
    }

    private static void checkStart(ByteSource source, long start) throws CheckpointException {
        if (start < 0 || start > source.size()) {
            throw CheckpointException.truncated(source.name(), start, "a pickle should begin here, past the end");
        }
    }

    /** Reads the pickle that a source begins with, within the default limits. */
    public static Unpickled read(ByteSource source) throws IOException {
        return read(source, 0, PickleLimits.defaults());
    }

    private Unpickled run(long start) throws IOException {
        long last = limits.pickleBytes() > Long.MAX_VALUE - start ? Long.MAX_VALUE : start + limits.pickleBytes();
        while (true) {
            opOffset = in.position();
            if (opOffset >= last) {
                throw limit("the pickle is longer than the limit of " + limits.pickleBytes() + " bytes");
            }
            int op = in.u8();
            if (op == Opcode.STOP) {
                PyValue value = pop();
                return new Unpickled(value, in.position(), protocol);
            }
            step(op);
        }
    }

    private void step(int op) throws IOException {
        switch (op) {
            case Opcode.BINGET -> push(get(in.u8()));
            case Opcode.BINPUT -> put(in.u8());
            case Opcode.LONG_BINGET -> push(get(in.u32()));
            case Opcode.LONG_BINPUT -> put(in.u32());
            case Opcode.MEMOIZE -> put(memo.size());
            case Opcode.BININT1 -> pushInt(in.u8());
            case Opcode.BININT2 -> pushInt(in.u16());
            case Opcode.BININT -> pushInt(in.i32());
            case Opcode.BINUNICODE -> pushStr(in.u32());
            case Opcode.SHORT_BINUNICODE -> pushStr(in.u8());
            case Opcode.BINUNICODE8 -> pushStr(in.i64());
            case Opcode.MARK -> {
                grow(SLOT);
                stack.mark(graphBytes - memoBytes);
            }
            case Opcode.TUPLE -> tupleAboveMark();
            case Opcode.TUPLE1 -> tuple(1);
            case Opcode.TUPLE2 -> tuple(2);
            case Opcode.TUPLE3 -> tuple(3);
            case Opcode.EMPTY_TUPLE -> push(PyTuple.EMPTY);
            case Opcode.REDUCE -> object(PyObject.Kind.REDUCE, false);
            case Opcode.NEWOBJ -> object(PyObject.Kind.NEWOBJ, false);
            case Opcode.NEWOBJ_EX -> object(PyObject.Kind.NEWOBJ_EX, true);
            case Opcode.BUILD -> build();
            case Opcode.BINPERSID -> push(node(new PyPersistent(pop())));
            case Opcode.NONE -> push(PyNone.NONE);
            case Opcode.NEWTRUE -> push(PyBool.TRUE);
            case Opcode.NEWFALSE -> push(PyBool.FALSE);
            case Opcode.EMPTY_DICT -> push(node(new PyDict()));
            case Opcode.EMPTY_LIST -> push(node(new PyList()));
            case Opcode.EMPTY_SET -> push(node(new PySet(false, List.of())));
            case Opcode.SETITEMS -> setItems();
            case Opcode.SETITEM -> setItem();
            case Opcode.APPENDS -> appends();
            case Opcode.APPEND -> append();
            case Opcode.ADDITEMS -> addItems();
            case Opcode.GLOBAL -> push(global(name(), name()));
            case Opcode.STACK_GLOBAL -> stackGlobal();
            case Opcode.BINFLOAT -> push(node(new PyFloat(Double.longBitsToDouble(in.bigEndian64()))));
            case Opcode.LONG1 -> pushLong(in.u8());
            case Opcode.LONG4 -> pushLong(in.i32());
            case Opcode.BINBYTES -> pushBytes(PyBytes.Kind.BYTES, in.u32());
            case Opcode.SHORT_BINBYTES -> pushBytes(PyBytes.Kind.BYTES, in.u8());
            case Opcode.BINBYTES8 -> pushBytes(PyBytes.Kind.BYTES, in.i64());
            case Opcode.BYTEARRAY8 -> pushBytes(PyBytes.Kind.BYTEARRAY, in.i64());
            case Opcode.SHORT_BINSTRING -> pushBytes(PyBytes.Kind.PYTHON2_STR, in.u8());
            case Opcode.BINSTRING -> pushBytes(PyBytes.Kind.PYTHON2_STR, in.i32());
            case Opcode.PROTO -> proto();
            case Opcode.FRAME -> in.checkLength(in.i64());
            default -> rareStep(op);
        }
    }

    /** Operations that CPython's picklers write only in protocols 0 and 1, or hardly ever. */
    private void rareStep(int op) throws IOException {
        switch (op) {
            case Opcode.POP -> popOrUnmark();
            case Opcode.POP_MARK -> dropToMark();
            case Opcode.DUP -> push(peek());
            case Opcode.INT -> push(node(text(PickleText.intLine(line()), "an integer")));
            case Opcode.LONG -> push(node(text(PickleText.longLine(line()), "an integer")));
            case Opcode.FLOAT -> push(node(text(PickleText.floatLine(line()), "a number")));
            case Opcode.STRING ->
                push(node(new PyBytes(PyBytes.Kind.PYTHON2_STR, text(PickleText.quoted(line()), "a quoted string"))));
            case Opcode.UNICODE ->
                push(node(new PyStr(text(PickleText.rawUnicodeEscape(line()), "an escaped string"))));
            case Opcode.GET -> push(get(memoIndex()));
            case Opcode.PUT -> put(memoIndex());
            case Opcode.PERSID -> push(node(new PyPersistent(new PyStr(line()))));
            case Opcode.DICT -> {
                PyDict dict = new PyDict();
                fill(dict);
                dropToMark();
                push(node(dict));
            }
            case Opcode.LIST -> {
                PyList list = new PyList(values());
                dropToMark();
                push(node(list));
            }
            case Opcode.FROZENSET -> {
                PySet set = new PySet(true, values());
                dropToMark();
                push(node(set));
            }
            case Opcode.INST -> instance(global(name(), name()), 0);
            case Opcode.OBJ -> {
                requireMark();
                if (stack.countAboveMark() == 0) {
                    throw malformed("OBJ without a class");
                }
                instance(stack.aboveMark(0), 1);
            }
            case Opcode.EXT1, Opcode.EXT2, Opcode.EXT4 ->
                throw unsupported(
                        "the pickle uses an extension code, whose meaning only the program that wrote it knows");
            case Opcode.NEXT_BUFFER, Opcode.READONLY_BUFFER ->
                throw unsupported("the pickle refers to a buffer outside the file");
            default -> throw malformed("0x%02x is no pickle operation".formatted(op));
        }
    }

    private void proto() throws IOException {
        int announced = in.u8();
        if (announced > HIGHEST_PROTOCOL) {
            throw unsupported("pickle protocol " + announced + " is newer than the newest known, " + HIGHEST_PROTOCOL);
        }
        protocol = announced;
    }

    private void pushInt(int value) throws CheckpointException {
        push(PyInt.of(value));
    }

    private void pushStr(long length) throws IOException {
        checkString(length);
        push(new PyStr(in.utf8((int) length)));
    }

    private void pushBytes(PyBytes.Kind kind, long length) throws IOException {
        checkString(length);
        push(new PyBytes(kind, in.bytes((int) length)));
    }

    private void checkString(long length) throws CheckpointException {
        in.checkLength(length);
        if (length > limits.stringBytes()) {
            throw limit("a string of " + length + " bytes is longer than the limit of " + limits.stringBytes());
        }
        grow(NODE + length);
    }

    private void pushLong(int length) throws IOException {
        if (length < 0) {
            throw malformed("an integer of " + length + " bytes");
        }
        in.checkLength(length);
        if (length > limits.intBytes()) {
            throw limit("an integer of " + length + " bytes is longer than the limit of " + limits.intBytes());
        }
        byte[] littleEndian = in.bytes(length);
        if (length <= Long.BYTES) {
            long value = length == 0 ? 0 : littleEndian[length - 1];
            for (int i = length - 2; i >= 0; i--) {
                value = value << 8 | littleEndian[i] & 0xff;
            }
            push(node(PyInt.of(value)));
            return;
        }
        byte[] bigEndian = new byte[length];
        for (int i = 0; i < length; i++) {
            bigEndian[i] = littleEndian[length - 1 - i];
        }
        push(node(PyInt.of(new BigInteger(bigEndian))));
    }

    private void tuple(int count) throws CheckpointException {
        PyValue third = count > 2 ? pop() : null;
        PyValue second = count > 1 ? pop() : null;
        PyValue first = pop();
        push(node(
                switch (count) {
                    case 1 -> PyTuple.ofOne(first);
                    case 2 -> PyTuple.ofTwo(first, second);
                    default -> new PyTuple(List.of(first, second, third));
                }));
    }

    private void tupleAboveMark() throws CheckpointException {
        PyTuple tuple = stack.countAboveMark() == 0 ? PyTuple.EMPTY : new PyTuple(values());
        dropToMark();
        push(node(tuple));
    }

    private void object(PyObject.Kind kind, boolean hasKwargs) throws CheckpointException {
        PyValue kwargs = hasKwargs ? pop() : PyNone.NONE;
        if (hasKwargs && !(kwargs instanceof PyDict)) {
            throw malformed("the keyword arguments of a call are " + kwargs.describe() + ", not a dict");
        }
        PyValue args = pop();
        PyValue callable = pop();
        if (!(args instanceof PyTuple)) {
            throw malformed("the arguments of a call are " + args.describe() + ", not a tuple");
        }
        if (!(callable instanceof PyGlobal || callable instanceof PyObject || callable instanceof PyPersistent)) {
            throw malformed(callable.describe() + " is called");
        }
        listener.called(kind, callable, args, opOffset);
        push(node(new PyObject(kind, callable, args, kwargs)));
    }

    private void instance(PyValue type, int skip) throws CheckpointException {
        requireMark();
        PyTuple args = new PyTuple(values().subList(skip, stack.countAboveMark()));
        dropToMark();
        listener.called(PyObject.Kind.INSTANCE, type, args, opOffset);
        push(node(new PyObject(PyObject.Kind.INSTANCE, type, args)));
    }

    private void build() throws CheckpointException {
        PyValue state = pop();
        PyValue target = peek();
        if (!(target instanceof PyObject object)) {
            throw malformed("a state is given to " + target.describe());
        }
        listener.built(object, opOffset);
        grow(NODE);
        object.addStep(new PyObject.State(state));
    }

    private void setItem() throws CheckpointException {
        PyValue value = pop();
        PyValue key = pop();
        PyValue target = peek();
        if (target instanceof PyDict dict) {
            PyEntry entry = new PyEntry(key, value);
            if (consumer != KEEP_ALL && consumer.entries(List.of(entry))) {
                return;
            }
            dict.entries().add(entry);
        } else {
            itemsOf(target).add(new PyEntry(key, value));
        }
        grow(NODE);
    }

    private void setItems() throws CheckpointException {
        requireMark();
        PyValue target = belowMark();
        if (target instanceof PyDict dict) {
            if (consumer != KEEP_ALL && consumed()) {
                return;
            }
            fill(dict);
        } else if (stack.countAboveMark() > 0) {
            itemsOf(target).addAll(entriesAboveMark());
        }
        dropToMark();
    }

    /** True if the consumer takes the entries above the mark; then they, and all made for them, are forgotten. */
    private boolean consumed() throws CheckpointException {
        return forgetIf(consumer.entries(entriesAboveMark()));
    }

    private boolean forgetIf(boolean taken) throws CheckpointException {
        if (taken) {
            graphBytes = stack.markNote() + memoBytes;
            dropToMark();
        }
        return taken;
    }

    private List<PyEntry> itemsOf(PyValue target) throws CheckpointException {
        if (!(target instanceof PyObject object)) {
            throw malformed("an item with a key is put into " + target.describe());
        }
        if (object.lastStep() instanceof PyObject.Items items) {
            return items.entries();
        }
        List<PyEntry> entries = new ArrayList<>(2);
        object.addStep(new PyObject.Items(entries));
        return entries;
    }

    /** Adds the keys and values above the mark. */
    private void fill(PyDict dict) throws CheckpointException {
        int count = pairsAboveMark();
        dict.reserve(count);
        for (int i = 0; i < count; i++) {
            dict.add(stack.aboveMark(2 * i), stack.aboveMark(2 * i + 1));
        }
    }

    private List<PyEntry> entriesAboveMark() throws CheckpointException {
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
            throw malformed("a key has no value");
        }
        grow((long) SLOT * count);
        return count / 2;
    }

    private void append() throws CheckpointException {
        PyValue value = pop();
        appendTarget(peek()).add(value);
        grow(SLOT);
    }

    private void appends() throws CheckpointException {
        requireMark();
        if (stack.countAboveMark() > 0) {
            PyValue target = belowMark();
            if (consumer != KEEP_ALL && target instanceof PyList && forgetIf(consumer.values(stack.aboveMark()))) {
                return;
            }
            appendTarget(target).addAll(values());
        }
        dropToMark();
    }

    private List<PyValue> appendTarget(PyValue target) throws CheckpointException {
        if (target instanceof PyList list) {
            return list.items();
        }
        if (!(target instanceof PyObject object)) {
            throw malformed("an item is appended to " + target.describe());
        }
        if (object.lastStep() instanceof PyObject.Appends appends) {
            return appends.values();
        }
        List<PyValue> values = new ArrayList<>(2);
        object.addStep(new PyObject.Appends(values));
        return values;
    }

    private void addItems() throws CheckpointException {
        requireMark();
        PyValue target = belowMark();
        if (target instanceof PySet set && !set.frozen()) {
            set.items().addAll(values());
        } else if (target instanceof PyObject object) {
            object.addStep(new PyObject.Adds(new ArrayList<>(values())));
        } else {
            throw malformed("an item is added to " + target.describe());
        }
        dropToMark();
    }

    private void stackGlobal() throws CheckpointException {
        PyValue name = pop();
        PyValue module = pop();
        if (!(name instanceof PyStr nameText) || !(module instanceof PyStr moduleText)) {
            throw malformed("a class or function is named by " + module.describe() + " and " + name.describe());
        }
        push(global(moduleText.value(), nameText.value()));
    }

    private PyGlobal global(String module, String name) throws CheckpointException {
        PyGlobal fresh = new PyGlobal(module, name);
        PyGlobal seen = globals.get(fresh);
        if (seen == null) {
            grow(2 * NODE + module.length() + (long) name.length());
            globals.put(fresh, fresh);
            seen = fresh;
        }
        listener.imported(seen, opOffset);
        return seen;
    }

    /** A line of GLOBAL or INST, which is UTF-8 in Python 3. */
    private String name() throws IOException {
        long start = in.position();
        byte[] bytes = line().getBytes(StandardCharsets.ISO_8859_1);
        return PickleText.utf8(bytes, 0, bytes.length, source, start);
    }

    private String line() throws IOException {
        String line = in.line(limits.lineBytes());
        grow(line.length());
        return line;
    }

    private <T> T text(T parsed, String expected) throws CheckpointException {
        if (parsed == null) {
            throw malformed("a text operation does not hold " + expected);
        }
        return parsed;
    }

    private long memoIndex() throws IOException {
        PyValue index = PickleText.longLine(line());
        if (!(index instanceof PyInt number) || number.asLong().orElse(-1) < 0) {
            throw malformed("the number of a memo entry is no number");
        }
        return number.asLong().getAsLong();
    }

    private PyValue get(long index) throws CheckpointException {
        PyValue value = memo.get(index);
        if (value == null) {
            throw malformed("memo entry " + index + " is fetched, but was never stored");
        }
        return value;
    }

    private void put(long index) throws CheckpointException {
        if (memo.size() >= limits.memoEntries()) {
            throw limit("the memo has more than " + limits.memoEntries() + " entries");
        }
        PyValue value = peek();
        if (fetched.isPresent()) {
            if (PickleReferences.mayDrop(index) && !fetched.get().get((int) index)) {
                memo.drop(index);
                return;
            }
            memoBytes += 2 * NODE + (value instanceof PyStr text ? text.value().length() : 0);
        }
        grow(SLOT);
        memo.put(index, value);
    }

    private void push(PyValue value) {
        stack.push(value);
    }

    private PyValue pop() throws CheckpointException {
        PyValue value = stack.popOrNull();
        if (value == null) {
            throw underflow();
        }
        return value;
    }

    private PyValue peek() throws CheckpointException {
        PyValue value = stack.peekOrNull();
        if (value == null) {
            throw underflow();
        }
        return value;
    }

    private void popOrUnmark() throws CheckpointException {
        if (stack.markOnTop()) {
            stack.dropToMark();
        } else {
            pop();
        }
    }

    private List<PyValue> values() throws CheckpointException {
        requireMark();
        grow((long) SLOT * stack.countAboveMark());
        return stack.aboveMark();
    }

    private PyValue belowMark() throws CheckpointException {
        PyValue value = stack.belowMarkOrNull();
        if (value == null) {
            throw underflow();
        }
        return value;
    }

    private void requireMark() throws CheckpointException {
        if (!stack.hasMark()) {
            throw malformed("the operation needs a mark on the stack, but there is none");
        }
    }

    private void dropToMark() throws CheckpointException {
        requireMark();
        stack.dropToMark();
    }

    private <T extends PyValue> T node(T value) throws CheckpointException {
        grow(NODE);
        return value;
    }

    private void grow(long bytes) throws CheckpointException {
        graphBytes += bytes;
        if (graphBytes > limits.graphBytes()) {
            throw limit("the pickle's content needs more than the limit of " + limits.graphBytes() + " bytes of memory")
                    .withHint("give Java more memory (-Xmx)");
        }
    }

    private CheckpointException underflow() {
        return malformed("the operation needs a value on the stack, but there is none");
    }

    private CheckpointException malformed(String problem) {
        return CheckpointException.malformed(source, opOffset, "the pickle is malformed: " + problem);
    }

    private CheckpointException unsupported(String problem) {
        return CheckpointException.of(CheckpointException.Kind.UNSUPPORTED, source + " at byte " + opOffset, problem);
    }

    private CheckpointException limit(String problem) {
        return CheckpointException.of(CheckpointException.Kind.LIMIT, source + " at byte " + opOffset, problem);
    }
}
