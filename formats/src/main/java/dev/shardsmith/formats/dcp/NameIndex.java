package dev.shardsmith.formats.dcp;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Names in order, each found by its number: a table of plain numbers, an eighth of what a map of objects takes. */
final class NameIndex {
    private static final int FREE = -1;

    private final List<String> names = new ArrayList<>();
    private int[] slots = filled(64);
    /** The hash code of each slot's name: looking at the names themselves would miss the cache. */
    private int[] hashes = new int[64];

    /** The number of a name, or -1. */
    int find(String name) {
        return slots[slotOf(name)];
    }

    /** Adds a name that is not there yet; false if it is. */
    boolean add(String name) {
        int slot = slotOf(name);
        if (slots[slot] != FREE) {
            return false;
        }
        slots[slot] = names.size();
        hashes[slot] = name.hashCode();
        names.add(name);
        if (names.size() > slots.length / 2) {
            grow();
        }
        return true;
    }

    String get(int number) {
        return names.get(number);
    }

    int size() {
        return names.size();
    }

    private int slotOf(String name) {
        int mask = slots.length - 1;
        // Spread: names that differ only in a number have close hash codes.
        int hash = name.hashCode();
        int slot = (hash * 0x9E3779B9 >>> 7) & mask;
        while (slots[slot] != FREE
                && (hashes[slot] != hash || !names.get(slots[slot]).equals(name))) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private void grow() {
        slots = filled(Math.multiplyExact(slots.length, 2));
        hashes = new int[slots.length];
        for (int number = 0; number < names.size(); number++) {
            int slot = slotOf(names.get(number));
            slots[slot] = number;
            hashes[slot] = names.get(number).hashCode();
        }
    }

    private static int[] filled(int length) {
        int[] slots = new int[length];
        Arrays.fill(slots, FREE);
        return slots;
    }
}
