package dev.shardsmith.reshard.execute;

import java.util.Map;
import java.util.TreeMap;

/** What some finished work adds to the whole; results are added up in any order. */
final class WorkResult {
    private final Map<Integer, Integer> checksums = new TreeMap<>();
    private final Map<Integer, Long> overflows = new TreeMap<>();
    private final Map<Integer, Long> mismatches = new TreeMap<>();

    /** Terms of the slots' checksums, by slot number. */
    Map<Integer, Integer> checksums() {
        return checksums;
    }

    /** Elements that became infinite in a cast, by move number. */
    Map<Integer, Long> overflows() {
        return overflows;
    }

    /** Elements in which replicas differ, by move number. */
    Map<Integer, Long> mismatches() {
        return mismatches;
    }

    /** Adds a stretch of {@code length} bytes at {@code position} of a slot, and its CRC-32. */
    void addStretch(SlotTable.SlotPlace slot, long position, long length, int crc) {
        addChecksum(slot.id(), Crc32Combiner.shift(crc, slot.length() - position - length));
    }

    void addChecksum(int slot, int term) {
        checksums.merge(slot, term, (a, b) -> a ^ b);
    }

    void addOverflows(int move, long elements) {
        if (elements > 0) {
            overflows.merge(move, elements, Long::sum);
        }
    }

    void addMismatches(int move, long elements) {
        if (elements > 0) {
            mismatches.merge(move, elements, Long::sum);
        }
    }

    void addAll(WorkResult other) {
        other.checksums.forEach(this::addChecksum);
        other.overflows.forEach(this::addOverflows);
        other.mismatches.forEach(this::addMismatches);
    }
}
