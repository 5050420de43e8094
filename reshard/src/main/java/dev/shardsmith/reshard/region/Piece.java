package dev.shardsmith.reshard.region;

import dev.shardsmith.formats.StoredTensor;

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
}
