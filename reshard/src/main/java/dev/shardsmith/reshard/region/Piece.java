package dev.shardsmith.reshard.region;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import java.util.ArrayList;
import java.util.List;

/**
 * A box of a logical tensor together with the strided view that holds exactly its elements.
 *
 * <p>The same type serves both sides of a conversion: on the source side the view lies in a file that exists, on the target
 * side in a {@link dev.shardsmith.reshard.plan.TargetSlot slot} of a file to be written.
 *
 * @param at offset of the box in the logical tensor, in elements per dimension
 * @param data view of the same rank whose shape is the size of the box
 */
public record Piece(long[] at, StoredTensor data) {
    /** A piece; the ranks must agree. */
    public Piece {
        if (at.length != data.shape().rank()) {
            throw new IllegalArgumentException("offset of rank " + at.length + " for a view of shape " + data.shape());
        }
    }

    /** The piece that is the whole logical tensor. */
    public static Piece whole(StoredTensor data) {
        return new Piece(new long[data.shape().rank()], data);
    }

    /** The box of the logical tensor that this piece holds. */
    public Box box() {
        return new Box(at, data.shape().toArray());
    }

    /** The view of the elements of {@code box}, which lies inside this piece's box. */
    public StoredTensor view(Box box) {
        return data.narrow(box.relativeTo(at).offset(), box.size());
    }

    /**
     * The pieces that come first of those that cover the same elements: the first of equal boxes is kept.
     *
     * @return the pieces with their replicas removed, in the given order
     */
    public static List<Piece> withoutReplicas(List<Piece> pieces) {
        List<Piece> distinct = new ArrayList<>();
        for (Piece piece : pieces) {
            boolean known = false;
            for (Piece earlier : distinct) {
                known |= earlier.box().equals(piece.box());
            }
            if (!known) {
                distinct.add(piece);
            }
        }
        return distinct;
    }

    /** Elements of a logical tensor of this shape that lie in no piece; 0 means complete, given that none overlap. */
    public static long uncovered(Shape shape, List<Piece> pieces) {
        long covered = 0;
        for (Piece piece : pieces) {
            covered = Math.addExact(covered, piece.box().elements());
        }
        return shape.elements() - covered;
    }
}
