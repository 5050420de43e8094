package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Comparers with one tolerance that are used again and again, since each holds much scratch space.
 *
 * <p>Safe for use by several threads: each takes one, and gives it back.
 */
final class Comparers {
    private final Tolerance tolerance;
    private final Map<DType, Map<DType, Queue<BlockComparer>>> idle = new ConcurrentHashMap<>();

    Comparers(Tolerance tolerance) {
        this.tolerance = tolerance;
    }

    /** A comparer that the caller alone has; empty if the bits alone of these types can be compared. */
    Optional<BlockComparer> take(DType left, DType right) {
        BlockComparer kept = idle(left, right).poll();
        return kept == null ? BlockComparer.of(left, right, tolerance) : Optional.of(kept);
    }

    /** Gives back a comparer that was drained. One that failed half-way is not to be given back. */
    void giveBack(BlockComparer comparer) {
        idle(comparer.leftType(), comparer.rightType()).add(comparer);
    }

    private Queue<BlockComparer> idle(DType left, DType right) {
        return idle.computeIfAbsent(left, none -> new ConcurrentHashMap<>())
                .computeIfAbsent(right, none -> new ConcurrentLinkedQueue<>());
    }
}
