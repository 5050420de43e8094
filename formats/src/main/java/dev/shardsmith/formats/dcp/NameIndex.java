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
        int hash = name.hashCode();
        int slot = first(hash, mask);
        while (slots[slot] != FREE
                && (hashes[slot] != hash || !names.get(slots[slot]).equals(name))) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private void grow() {
        int[] numbers = slots;
        int[] before = hashes;
        slots = filled(Math.multiplyExact(numbers.length, 2));
        hashes = new int[slots.length];
        int mask = slots.length - 1;
        for (int old = 0; old < numbers.length; old++) {
            if (numbers[old] != FREE) {
                int slot = first(before[old], mask);
                while (slots[slot] != FREE) {
                    slot = (slot + 1) & mask;
                }
                slots[slot] = numbers[old];
                hashes[slot] = before[old];
            }
        }
    }

    /** Where the search for a name begins. Spread: names that differ only in a number have close hash codes. */
    private static int first(int hash, int mask) {
        return (hash * 0x9E3779B9 >>> 7) & mask;
    }

    private static int[] filled(int length) {
        int[] slots = new int[length];
        Arrays.fill(slots, FREE);
        return slots;
    }
}
