package dev.shardsmith.reshard.execute;

import java.util.Map;
import java.util.TreeMap;

/** What some finished work adds to the whole; results are added up in any order. */
final class WorkResult {
    private final Map<Integer, Integer> checksums = new TreeMap<>();
    private final Map<Integer, Long> overflows = new TreeMap<>();
    private final Map<Integer, Long> mismatches = new TreeMap<>();

    /** Terms of the checksums of slots and {@link SourceChecks checked sources}, by number. */
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

    /** Adds the CRC-32 of a stretch that {@code rest} bytes follow in the slot or source {@code id}. */
    void addStretch(int id, long rest, int crc) {
        addChecksum(id, Crc32Combiner.shift(crc, rest));
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
