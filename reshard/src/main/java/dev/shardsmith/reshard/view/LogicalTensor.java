package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.region.Piece;
import java.util.List;

/**
 * A tensor of the undivided model.
 *
 * @param name canonical name
 * @param dtype element type as stored
 * @param shape sizes of the undivided tensor
 * @param pieces views that together hold every element exactly once
 * @param replicas further views of elements that {@code pieces} hold already; a sound checkpoint has equal bytes there
 * @param division how the source divides it, in words
 */
public record LogicalTensor(
        String name, DType dtype, Shape shape, List<Piece> pieces, List<Piece> replicas, String division) {
    /** A logical tensor; the lists are copied. */
    public LogicalTensor {
        pieces = List.copyOf(pieces);
        replicas = List.copyOf(replicas);
    }

    /** A tensor that one view holds whole. */
    public static LogicalTensor whole(String name, dev.shardsmith.formats.StoredTensor data) {
        return new LogicalTensor(name, data.dtype(), data.shape(), List.of(Piece.whole(data)), List.of(), "whole");
    }

    /** Bytes of its elements. */
    public long bytes() {
        return dtype.bytes(shape.elements());
    }

    /** The same tensor under another name. */
    public LogicalTensor named(String newName) {
        return new LogicalTensor(newName, dtype, shape, pieces, replicas, division);
    }
}
