package dev.shardsmith.formats.pickle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Nodes of a pickle as words of an array, not as objects: a large pickle has a hundred million of them.
 *
 * <p>A reference is a long whose lowest three bits say what it is; the others are an integer itself or an index. A node lies in
 * words: its kind, then for a tuple its items; for a list or dict where its items lie and how many they are; for an object what is
 * called, the arguments and the state. What the memo still needs is moved aside when the rest is forgotten.
 */
public final class PickleNodes {
    /** The kinds of values. */
    public enum Kind {
        /** An integer of at most 61 bits. */
        INTEGER,
        /** A string. */
        TEXT,
        /** A tuple. */
        TUPLE,
        /** A list. */
        LIST,
        /** A dict. */
        DICT,
        /** An object that a class or function makes. */
        OBJECT,
        /** Anything else; {@link #constant} has it. */
        CONSTANT
    }

    /** A reference that refers to nothing. */
    public static final long ABSENT = PickleNodeMemo.ABSENT;

    /** Refers to None. */
    public static final long NONE = constantAt(0);

    static final long TRUE = constantAt(1);
    static final long FALSE = constantAt(2);

    private static final int TAG_BITS = 3;
    private static final int TAG = 7;
    private static final int INTEGER = 0;
    private static final int CONSTANT = 1;
    private static final int TEXT = 2;
    private static final int KEPT_TEXT = 3;
    private static final int NODE = 4;
    private static final int KEPT_NODE = 5;

    private static final int TUPLE = 0;
    private static final int LIST = 1;
    private static final int DICT = 2;
    private static final int OBJECT = 3;

    /** Nobody nests deeper what is asked for here. */
    static final int MAX_DEPTH = 48;

    /** Words that may be in use at once, half a GiB: a million chunks of a few tensors come in one piece. */
    private static final int MAX_WORDS = 1 << 26;

    private final long mostKept;
    private long[] words = new long[1 << 12];
    private int top;
    private final PickleNodeTexts texts = new PickleNodeTexts();
    private long[] keptWords = new long[64];
    private int keptTop;
    private long keptBytes;
    private final List<PyValue> constants = new ArrayList<>(List.of(PyNone.NONE, PyBool.TRUE, PyBool.FALSE));
    private final Map<PyGlobal, Long> globals = new HashMap<>();

    /** Nodes of which so many bytes may be kept. */
    PickleNodes(long mostKept) {
        this.mostKept = mostKept;
    }

    /** What a reference refers to. */
    public Kind kind(long reference) {
        return switch ((int) reference & TAG) {
            case INTEGER -> Kind.INTEGER;
            case TEXT, KEPT_TEXT -> Kind.TEXT;
            case NODE, KEPT_NODE ->
                switch ((int) word(reference, 0) & TAG) {
                    case TUPLE -> Kind.TUPLE;
                    case LIST -> Kind.LIST;
                    case DICT -> Kind.DICT;
                    default -> Kind.OBJECT;
                };
            default -> Kind.CONSTANT;
        };
    }

    /** An integer's value. */
    public long integer(long reference) {
        return reference >> TAG_BITS;
    }

    /** True if it is this string. */
    public boolean isText(long reference, String text) {
        return texts.is(reference >>> TAG_BITS, isKeptText(reference), text);
    }

    /** A string; the same object each time if the memo has it. */
    public String text(long reference) {
        return texts.get(reference >>> TAG_BITS, isKeptText(reference));
    }

    /** True if a string that has no dot follows in another at a place. */
    public boolean isPartOf(long reference, String whole, int at) {
        return texts.isPartOf(reference >>> TAG_BITS, isKeptText(reference), whole, at);
    }

    /** Characters of a string. */
    public int textLength(long reference) {
        return texts.length(reference >>> TAG_BITS, isKeptText(reference));
    }

    /** Items of a tuple or list, entries of a dict. */
    public int size(long reference) {
        long head = word(reference, 0);
        return switch ((int) head & TAG) {
            case TUPLE -> (int) (head >>> TAG_BITS);
            case LIST -> (int) word(reference, 2);
            default -> (int) word(reference, 2) / 2;
        };
    }

    /** Reference to an item of a tuple or list. */
    public long item(long reference, int index) {
        return (word(reference, 0) & TAG) == TUPLE ? word(reference, 1 + index) : slot(reference, index);
    }

    /** Reference to a key of a dict. */
    public long key(long reference, int index) {
        return slot(reference, 2 * index);
    }

    /** Reference to a value of a dict. */
    public long value(long reference, int index) {
        return slot(reference, 2 * index + 1);
    }

    /** What an object is made by. */
    public PyValue callable(long reference) {
        return constant(word(reference, 1));
    }

    /** Number of what an object is made by: each class has one. */
    public int callableNumber(long reference) {
        return index(word(reference, 1));
    }

    /** Reference to an object's arguments, a tuple. */
    public long arguments(long reference) {
        return word(reference, 2);
    }

    PyObject.Kind how(long reference) {
        return word(reference, 0) >>> TAG_BITS == PyObject.Kind.REDUCE.ordinal()
                ? PyObject.Kind.REDUCE
                : PyObject.Kind.NEWOBJ;
    }

    boolean hasState(long reference) {
        return word(reference, 3) != PickleNodeMemo.ABSENT;
    }

    /** Reference to an object's state; None if it was given none. */
    public long state(long reference) {
        long state = word(reference, 3);
        return state == PickleNodeMemo.ABSENT ? NONE : state;
    }

    /** A value that is of no other kind. */
    public PyValue constant(long reference) {
        return constants.get(index(reference));
    }

    /**
     * The value of a reference, as {@link PickleReader} would have made it.
     *
     * @throws PickleDeclinedException if it is nested too deeply for that
     */
    public PyValue toValue(long reference) throws PickleDeclinedException {
        return new PickleNodeValues(this).of(reference);
    }

    // What follows is for the reader.

    long integerOf(long value) throws PickleDeclinedException {
        return value << TAG_BITS >> TAG_BITS == value ? value << TAG_BITS : constantOf(PyInt.of(value));
    }

    /** A value of its own; these are few. */
    long constantOf(PyValue value) throws PickleDeclinedException {
        keep(PickleMeter.NODE + PickleMeter.SLOT);
        constants.add(value);
        return constantAt(constants.size() - 1);
    }

    long globalOf(String module, String name) throws PickleDeclinedException {
        PyGlobal global = new PyGlobal(module, name);
        Long known = globals.get(global);
        if (known != null) {
            return known;
        }
        long reference = constantOf(global);
        globals.put(global, reference);
        return reference;
    }

    boolean isGlobal(long reference) {
        return ((int) reference & TAG) == CONSTANT && constant(reference) instanceof PyGlobal;
    }

    boolean isNode(long reference) {
        return (reference & NODE) != 0;
    }

    /** True for what was made since a mark was set, and so is forgotten with what came since. */
    boolean isSince(long reference, int mark) {
        return ((int) reference & TAG) == NODE && index(reference) >= mark;
    }

    boolean isText(long reference) {
        return ((int) reference & TAG & ~1) == TEXT;
    }

    boolean isKeptText(long reference) {
        return ((int) reference & TAG) == KEPT_TEXT;
    }

    /** A text of ASCII letters which were put where {@link PickleNodeTexts#room} said. */
    long textOf(int length) {
        return texts.add(length) << TAG_BITS | TEXT;
    }

    /** A text that is not forgotten. */
    long keptTextOf(String text) throws PickleDeclinedException {
        keep(2 * PickleMeter.NODE + (long) text.length());
        return texts.keep(text) << TAG_BITS | KEPT_TEXT;
    }

    PickleNodeTexts texts() {
        return texts;
    }

    long tupleOf(long[] references, int from, int to) throws PickleDeclinedException {
        int at = add(1 + to - from);
        words[at] = TUPLE | (long) (to - from) << TAG_BITS;
        System.arraycopy(references, from, words, at + 1, to - from);
        return nodeAt(at);
    }

    long list() throws PickleDeclinedException {
        return empty(LIST);
    }

    long dict() throws PickleDeclinedException {
        return empty(DICT);
    }

    private long empty(int kind) throws PickleDeclinedException {
        int at = add(3);
        words[at] = kind;
        words[at + 1] = 0;
        words[at + 2] = 0;
        return nodeAt(at);
    }

    long object(PyObject.Kind how, long callable, long arguments) throws PickleDeclinedException {
        int at = add(4);
        words[at] = OBJECT | (long) how.ordinal() << TAG_BITS;
        words[at + 1] = callable;
        words[at + 2] = arguments;
        words[at + 3] = PickleNodeMemo.ABSENT;
        return nodeAt(at);
    }

    void setState(long object, long state) throws PickleDeclinedException {
        int at = index(object);
        if (!isNode(object) || (words[at] & TAG) != OBJECT || words[at + 3] != PickleNodeMemo.ABSENT) {
            throw new PickleDeclinedException();
        }
        words[at + 3] = state;
    }

    /** Adds items to a list, or keys and values to a dict. */
    void extend(long container, long[] references, int from, int to) throws PickleDeclinedException {
        int at = index(container);
        int before = (int) words[at + 2];
        int begin = add(before + to - from);
        System.arraycopy(words, (int) words[at + 1], words, begin, before);
        System.arraycopy(references, from, words, begin + before, to - from);
        words[at + 1] = begin;
        words[at + 2] = before + to - from;
    }

    int top() {
        return top;
    }

    /** Forgets all that was made since. */
    void forgetSince(int oldTop, int oldTextsTop) {
        top = oldTop;
        texts.forgetSince(oldTextsTop);
    }

    /** A copy, which is not forgotten, of what was made since a mark; older nodes may still change, and are not copied. */
    long kept(long reference, int mark, int depth) throws PickleDeclinedException {
        if (depth > MAX_DEPTH || ((int) reference & TAG) == NODE && index(reference) < mark) {
            throw new PickleDeclinedException();
        }
        if (((int) reference & TAG) == TEXT) {
            return keptTextOf(text(reference));
        }
        if (((int) reference & TAG) != NODE) {
            return reference;
        }
        int at = index(reference);
        int kind = (int) words[at] & TAG;
        int count = kind == TUPLE ? (int) (words[at] >>> TAG_BITS) : kind == OBJECT ? 0 : (int) words[at + 2];
        int head = kind == OBJECT ? 4 : kind == TUPLE ? 1 : 3;
        int to = addKept(head + count);
        keptWords[to] = words[at];
        if (kind == OBJECT) {
            keptWords[to + 1] = words[at + 1];
            long arguments = kept(words[at + 2], mark, depth + 1);
            long state = words[at + 3];
            keptWords[to + 2] = arguments;
            state = state == PickleNodeMemo.ABSENT ? state : kept(state, mark, depth + 1);
            keptWords[to + 3] = state;
            return nodeKeptAt(to);
        }
        int items = kind == TUPLE ? at + 1 : (int) words[at + 1];
        if (kind != TUPLE) {
            keptWords[to + 1] = to + head;
            keptWords[to + 2] = count;
        }
        for (int i = 0; i < count; i++) {
            long item = kept(words[items + i], mark, depth + 1);
            keptWords[to + head + i] = item;
        }
        return nodeKeptAt(to);
    }

    private int addKept(int count) throws PickleDeclinedException {
        keep((long) count * Long.BYTES);
        if (count > keptWords.length - keptTop) {
            keptWords = Arrays.copyOf(keptWords, Math.max(keptTop + count, 2 * keptWords.length));
        }
        keptTop += count;
        return keptTop - count;
    }

    private void keep(long bytes) throws PickleDeclinedException {
        keptBytes += bytes;
        if (keptBytes > mostKept) {
            throw new PickleDeclinedException();
        }
    }

    private int add(int count) throws PickleDeclinedException {
        if (count > MAX_WORDS - top) {
            throw new PickleDeclinedException();
        }
        if (count > words.length - top) {
            int more = words.length < 1 << 22 ? words.length : words.length / 2;
            words = Arrays.copyOf(words, Math.max(top + count, Math.min(MAX_WORDS, words.length + more)));
        }
        top += count;
        return top - count;
    }

    private long word(long reference, int offset) {
        return (((int) reference & TAG) == NODE ? words : keptWords)[index(reference) + offset];
    }

    private long slot(long reference, int offset) {
        long[] of = ((int) reference & TAG) == NODE ? words : keptWords;
        return of[(int) of[index(reference) + 1] + offset];
    }

    private static int index(long reference) {
        return (int) (reference >>> TAG_BITS);
    }

    private static long constantAt(int index) {
        return (long) index << TAG_BITS | CONSTANT;
    }

    private static long nodeAt(int index) {
        return (long) index << TAG_BITS | NODE;
    }

    private static long nodeKeptAt(int index) {
        return (long) index << TAG_BITS | KEPT_NODE;
    }
}
