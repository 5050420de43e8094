package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.pickle.PickleNodes.Kind;
import java.io.IOException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Optional;

/**
 * Reads a large pickle, most of which a consumer takes away as it comes, without an object for each of its nodes.
 *
 * <p>Only what CPython's picklers write of plain data and objects in protocols 2 to 5 is known here. Whatever else comes, the whole
 * pickle is left to {@link PickleReader}, which also says what is wrong with a damaged one: here is nothing reported.
 */
public final class PickleNodeReader {
    private final PickleInput in;
    private final PickleLimits limits;
    private final PickleNodeConsumer consumer;
    private final PickleNodes nodes;
    private final PickleNodeMemo memo;
    private final long end;

    private long[] stack = new long[64];
    private int size;
    /** Height of the stack below which nothing may be popped: that of the last mark. */
    private int fence;

    private int[] marks = new int[64];
    private int markCount;

    /** Number of entries of the memo, if all were stored under the next number. */
    private long memoized;

    private boolean numbered;

    /** Places of the memo that hold nodes which may be forgotten. */
    private int[] loose = new int[64];

    private int looseCount;

    /** What {@link #marks} has for each mark. */
    private static final int MARK_FIELDS = 4;

    private PickleNodeReader(
            ByteSource source, long start, PickleLimits limits, PickleNodeConsumer consumer, BitSet fetched)
            throws PickleDeclinedException {
        this.in = new PickleInput(source, start, source.size());
        this.limits = limits;
        this.consumer = consumer;
        this.nodes = new PickleNodes(limits.graphBytes() / 4 * 3);
        this.memo = PickleNodeMemo.of(fetched, limits.graphBytes() / 4);
        this.end = source.size();
        if (source.size() - start > limits.pickleBytes()) {
            throw new PickleDeclinedException();
        }
    }

    /**
     * Reads a pickle; what the consumer took is not in its value.
     *
     * @return the value, or nothing if the pickle is not for this reader
     */
    public static Optional<PyValue> read(
            ByteSource source, long start, PickleLimits limits, PickleNodeConsumer consumer) throws IOException {
        PickleReader.checkStart(source, start);
        BitSet fetched = PickleReferences.scan(source, start);
        try {
            return Optional.of(new PickleNodeReader(source, start, limits, consumer, fetched).run());
        } catch (PickleDeclinedException e) {
            return Optional.empty();
        }
    }

    private PyValue run() throws IOException, PickleDeclinedException {
        while (true) {
            if (in.position() == end) {
                throw new PickleDeclinedException();
            }
            int op = in.u8();
            if (op == Opcode.STOP) {
                return nodes.toValue(pop());
            }
            step(op);
        }
    }

    private void step(int op) throws IOException, PickleDeclinedException {
        switch (op) {
            case Opcode.BINGET -> push(get(in.u8()));
            case Opcode.LONG_BINGET -> push(get(in.u32()));
            case Opcode.MEMOIZE -> put(memoized++, false);
            case Opcode.BINPUT -> put(in.u8(), true);
            case Opcode.LONG_BINPUT -> put(in.u32(), true);
            case Opcode.BININT1 -> push(nodes.integerOf(in.u8()));
            case Opcode.BININT2 -> push(nodes.integerOf(in.u16()));
            case Opcode.BININT -> push(nodes.integerOf(in.i32()));
            case Opcode.LONG1 -> push(longOf(in.u8()));
            case Opcode.SHORT_BINUNICODE -> push(text(in.u8()));
            case Opcode.BINUNICODE -> push(text(in.u32()));
            case Opcode.MARK -> mark();
            case Opcode.TUPLE -> tuple(countAboveMark(), true);
            case Opcode.TUPLE1 -> tuple(1, false);
            case Opcode.TUPLE2 -> tuple(2, false);
            case Opcode.TUPLE3 -> tuple(3, false);
            case Opcode.EMPTY_TUPLE -> push(nodes.tupleOf(stack, 0, 0));
            case Opcode.EMPTY_LIST -> push(nodes.list());
            case Opcode.EMPTY_DICT -> push(nodes.dict());
            case Opcode.NEWOBJ -> object(PyObject.Kind.NEWOBJ);
            case Opcode.REDUCE -> object(PyObject.Kind.REDUCE);
            case Opcode.BUILD -> build();
            case Opcode.SETITEMS -> setItems();
            case Opcode.SETITEM -> setItem();
            case Opcode.APPENDS -> appends();
            case Opcode.APPEND -> append();
            case Opcode.NONE -> push(PickleNodes.NONE);
            case Opcode.NEWTRUE -> push(PickleNodes.TRUE);
            case Opcode.NEWFALSE -> push(PickleNodes.FALSE);
            case Opcode.BINFLOAT -> push(nodes.constantOf(new PyFloat(Double.longBitsToDouble(in.bigEndian64()))));
            case Opcode.STACK_GLOBAL -> stackGlobal();
            case Opcode.GLOBAL -> push(nodes.globalOf(line(), line()));
            case Opcode.PROTO -> require(in.u8() <= PickleReader.HIGHEST_PROTOCOL);
            case Opcode.FRAME -> in.checkLength(in.i64());
            default -> throw new PickleDeclinedException();
        }
    }

    private static void require(boolean holds) throws PickleDeclinedException {
        if (!holds) {
            throw new PickleDeclinedException();
        }
    }

    private void push(long reference) {
        if (size == stack.length) {
            stack = Arrays.copyOf(stack, 2 * size);
        }
        stack[size++] = reference;
    }

    private long pop() throws PickleDeclinedException {
        require(size > fence);
        return stack[--size];
    }

    private void mark() {
        if (MARK_FIELDS * markCount == marks.length) {
            marks = Arrays.copyOf(marks, 2 * marks.length);
        }
        int at = MARK_FIELDS * markCount++;
        marks[at] = size;
        marks[at + 1] = nodes.top();
        marks[at + 2] = nodes.texts().top();
        marks[at + 3] = looseCount;
        fence = size;
    }

    private int countAboveMark() throws PickleDeclinedException {
        require(markCount > 0);
        return size - fence;
    }

    private void dropToMark() {
        size = fence;
        markCount--;
        fence = markCount == 0 ? 0 : marks[MARK_FIELDS * (markCount - 1)];
    }

    /** Drops what lies above the mark, and forgets what came since but for what the memo holds. */
    private void forgetToMark() throws PickleDeclinedException {
        int at = MARK_FIELDS * (markCount - 1);
        for (int i = marks[at + 3]; i < looseCount; i++) {
            memo.set(loose[i], nodes.kept(memo.get(loose[i]), marks[at + 1], 0));
        }
        looseCount = marks[at + 3];
        nodes.forgetSince(marks[at + 1], marks[at + 2]);
        dropToMark();
    }

    private long get(long index) throws PickleDeclinedException {
        int place = memo.place(index);
        require(place >= 0 && memo.get(place) != PickleNodeMemo.ABSENT);
        return memo.get(place);
    }

    private void put(long index, boolean byNumber) throws PickleDeclinedException {
        // One writer does not mix both ways; where they are mixed, the next number is another.
        numbered |= byNumber;
        require(index < limits.memoEntries() && size > fence && !(numbered && memoized > 0));
        int place = memo.place(index);
        if (place < 0) {
            require(PickleReferences.mayDrop(index));
            return;
        }
        long reference = stack[size - 1];
        if (nodes.isText(reference) && !nodes.isKeptText(reference)) {
            reference = nodes.keptTextOf(nodes.text(reference));
            stack[size - 1] = reference;
        } else if (nodes.isNode(reference)) {
            if (looseCount == loose.length) {
                loose = Arrays.copyOf(loose, 2 * looseCount);
            }
            loose[looseCount++] = place;
        }
        memo.set(place, reference);
    }

    private long longOf(int length) throws IOException, PickleDeclinedException {
        require(length <= Long.BYTES);
        long value = 0;
        for (int i = 0; i < length; i++) {
            value |= (long) in.u8() << 8 * i;
        }
        int unused = Long.SIZE - 8 * length;
        return nodes.integerOf(length == 0 ? 0 : value << unused >> unused);
    }

    private long text(long length) throws IOException, PickleDeclinedException {
        in.checkLength(length);
        require(length <= PickleInput.WINDOW && length <= limits.stringBytes());
        int at = nodes.texts().room((int) length);
        return in.isAscii((int) length, nodes.texts().letters(), at)
                ? nodes.textOf((int) length)
                : nodes.keptTextOf(in.utf8((int) length));
    }

    private String line() throws IOException, PickleDeclinedException {
        String line = in.line(limits.lineBytes());
        for (int i = 0; i < line.length(); i++) {
            require(line.charAt(i) < 0x80);
        }
        return line;
    }

    private void tuple(int count, boolean marked) throws PickleDeclinedException {
        require(size - fence >= count);
        long tuple = nodes.tupleOf(stack, size - count, size);
        if (marked) {
            dropToMark();
        } else {
            size -= count;
        }
        push(tuple);
    }

    private void object(PyObject.Kind how) throws PickleDeclinedException {
        long arguments = pop();
        long callable = pop();
        require(nodes.kind(arguments) == Kind.TUPLE && nodes.isGlobal(callable));
        push(nodes.object(how, callable, arguments));
    }

    private void stackGlobal() throws PickleDeclinedException {
        long name = pop();
        long module = pop();
        require(nodes.isText(name) && nodes.isText(module));
        push(nodes.globalOf(nodes.text(module), nodes.text(name)));
    }

    private void build() throws PickleDeclinedException {
        long state = pop();
        require(size > fence && isChangeable(stack[size - 1]));
        nodes.setState(stack[size - 1], state);
    }

    /** Whether a node is as young as the last mark: an older one would keep what is forgotten with the mark. */
    private boolean isChangeable(long reference) {
        return nodes.isSince(reference, markCount == 0 ? 0 : marks[MARK_FIELDS * (markCount - 1) + 1]);
    }

    private void setItems() throws IOException, PickleDeclinedException {
        int from = fence;
        int to = size;
        require(countAboveMark() % 2 == 0);
        long target = belowMark();
        require(nodes.kind(target) == Kind.DICT);
        if (consumer.entries(nodes, stack, from, to)) {
            forgetToMark();
            return;
        }
        dropToMark();
        require(isChangeable(target));
        nodes.extend(target, stack, from, to);
    }

    private void setItem() throws IOException, PickleDeclinedException {
        require(size - fence >= 3 && nodes.kind(stack[size - 3]) == Kind.DICT);
        size -= 2;
        if (!consumer.entries(nodes, stack, size, size + 2)) {
            require(isChangeable(stack[size - 1]));
            nodes.extend(stack[size - 1], stack, size, size + 2);
        }
    }

    private void appends() throws IOException, PickleDeclinedException {
        int from = fence;
        int to = size;
        require(countAboveMark() > 0);
        long target = belowMark();
        require(nodes.kind(target) == Kind.LIST);
        if (consumer.values(nodes, stack, from, to)) {
            forgetToMark();
            return;
        }
        dropToMark();
        require(isChangeable(target));
        nodes.extend(target, stack, from, to);
    }

    private void append() throws PickleDeclinedException {
        require(size - fence >= 2 && nodes.kind(stack[size - 2]) == Kind.LIST && isChangeable(stack[size - 2]));
        size--;
        nodes.extend(stack[size - 1], stack, size, size + 1);
    }

    private long belowMark() throws PickleDeclinedException {
        int before = markCount < 2 ? 0 : marks[MARK_FIELDS * (markCount - 2)];
        require(fence > before);
        return stack[fence - 1];
    }
}
