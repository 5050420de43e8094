package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.region.Piece;
import java.util.List;

/**
 * The part of a plan that concerns one logical tensor: from these pieces to those.
 *
 * <p>The boxes of the sources do not overlap, and together with the fills they cover every target box. Where a target's
 * element type differs from the source's, its elements are cast.
 *
 * @param tensor canonical name
 * @param shape sizes of the logical tensor as the target has it
 * @param sources views of existing files
 * @param fills elements that no source has
 * @param targets views of {@link TargetSlot}s
 * @param replicas source views whose elements must equal those of {@code sources}; compared while copying
 */
public record TensorMove(
        String tensor, Shape shape, List<Piece> sources, List<Fill> fills, List<Piece> targets, List<Piece> replicas) {
    /** A move; the lists are copied. */
    public TensorMove {
        sources = List.copyOf(sources);
        fills = List.copyOf(fills);
        targets = List.copyOf(targets);
        replicas = List.copyOf(replicas);
    }

    /** Bytes that are written for it. */
    public long targetBytes() {
        long bytes = 0;
        for (Piece piece : targets) {
            bytes = Math.addExact(bytes, piece.data().bytes());
        }
        return bytes;
    }
}
