package dev.shardsmith.formats;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Names in order, each found by its number: a table of plain numbers, an eighth of what a map of objects takes. */
public final class NameIndex {
    /** A free slot: the number of no name. */
    private static final long FREE = -1;

    private static final long NUMBER = 0xffff_ffffL;

    private final List<String> names = new ArrayList<>();

    /** The hash code of a name above its number: looking at the names themselves would miss the cache. */
    private long[] slots = filled(64);

    /** How many names are in the table; those that were appended lately may not be. */
    private volatile int entered;

    /** The number of a name, or -1. */
    public int find(String name) {
        enterAll();
        return (int) slots[slotOf(name)];
    }

    /** Adds a name that is not there yet; false if it is. */
    public boolean add(String name) {
        enterAll();
        if (!enter(name, names.size())) {
            return false;
        }
        names.add(name);
        entered = names.size();
        return true;
    }

    /** Adds a name that is known not to be there yet; the table gets it when a name is looked for, if ever. */
    public void append(String name) {
        names.add(name);
    }

    private void enterAll() {
        if (entered < names.size()) {
            enterAppended();
        }
    }

    private synchronized void enterAppended() {
        int number = entered;
        for (; number < names.size(); number++) {
            if (!enter(names.get(number), number)) {
                throw new IllegalStateException("the name " + names.get(number) + " was there already");
            }
        }
        // Last of all: whoever reads it sees the whole table.
        entered = number;
    }

    private boolean enter(String name, int number) {
        int slot = slotOf(name);
        if (slots[slot] != FREE) {
            return false;
        }
        slots[slot] = (long) name.hashCode() << 32 | number;
        if (number + 1 > slots.length / 2) {
            grow();
        }
        return true;
    }

    /** The name of a number. */
    public String get(int number) {
        return names.get(number);
    }

    /** How many names there are. */
    public int size() {
        return names.size();
    }

    /** All names in order; a view. */
    public List<String> names() {
        return Collections.unmodifiableList(names);
    }

    private int slotOf(String name) {
        int mask = slots.length - 1;
        int hash = name.hashCode();
        int slot = first(hash, mask);
        while (slots[slot] != FREE
                && ((int) (slots[slot] >>> 32) != hash
                        || !names.get((int) (slots[slot] & NUMBER)).equals(name))) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private void grow() {
        long[] before = slots;
        slots = filled(Math.multiplyExact(before.length, 2));
        int mask = slots.length - 1;
        for (long entry : before) {
            if (entry != FREE) {
                int slot = first((int) (entry >>> 32), mask);
                while (slots[slot] != FREE) {
                    slot = (slot + 1) & mask;
                }
                slots[slot] = entry;
            }
        }
    }

    /** Where the search for a name begins. Spread: names that differ only in a number have close hash codes. */
    private static int first(int hash, int mask) {
        return (hash * 0x9E3779B9 >>> 7) & mask;
    }

    private static long[] filled(int length) {
        long[] slots = new long[length];
        Arrays.fill(slots, FREE);
        return slots;
    }
}
