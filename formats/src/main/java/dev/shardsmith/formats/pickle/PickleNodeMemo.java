package dev.shardsmith.formats.pickle;

import java.util.Arrays;
import java.util.BitSet;

/** The memo of a {@link PickleNodeReader}: only entries that are fetched somewhere, each at its place among these. */
final class PickleNodeMemo {
    /** No reference has this form. */
    static final long ABSENT = -1;

    private final long[] fetched;

    /** How many fetched entries come before each word of the bits. */
    private final int[] before;

    private long[] references;

    private PickleNodeMemo(long[] fetched, int[] before, int count) {
        this.fetched = fetched;
        this.before = before;
        this.references = new long[count];
        Arrays.fill(references, ABSENT);
    }

    /**
     * An empty memo.
     *
     * @param fetched the entries that are fetched
     * @param mostBytes the most memory to take
     */
    static PickleNodeMemo of(BitSet fetched, long mostBytes) throws PickleDeclinedException {
        long[] words = fetched.toLongArray();
        int[] before = new int[words.length];
        int count = 0;
        for (int i = 0; i < words.length; i++) {
            before[i] = count;
            count += Long.bitCount(words[i]);
        }
        if ((long) count * Long.BYTES > mostBytes) {
            throw new PickleDeclinedException();
        }
        return new PickleNodeMemo(words, before, count);
    }

    /** The place of an entry, or -1 if it is never fetched. */
    int place(long index) {
        int word = (int) (index >>> 6);
        if (index < 0 || word >= fetched.length || (fetched[word] >>> index & 1) == 0) {
            return -1;
        }
        return before[word] + Long.bitCount(fetched[word] & (1L << index) - 1);
    }

    long get(int place) {
        return references[place];
    }

    void set(int place, long reference) {
        references[place] = reference;
    }
}
