package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import java.util.ArrayList;
import java.util.List;

/** Moves of types with less than a byte per element: their bytes are moved, whole. */
final class PackedElements {
    private PackedElements() {}

    /**
     * The same move as one of plain bytes, if its elements are smaller than a byte; else the move itself.
     *
     * @throws CheckpointException if such a tensor is to be divided, joined or cast
     */
    static TensorMove asBytes(TensorMove move) throws CheckpointException {
        DType packed = null;
        List<Piece> all = new ArrayList<>(move.sources());
        all.addAll(move.replicas());
        all.addAll(move.targets());
        for (Piece piece : all) {
            packed = piece.data().dtype().byteAligned() ? packed : piece.data().dtype();
        }
        if (packed == null) {
            return move;
        }
        for (Piece piece : all) {
            if (piece.data().dtype() != packed
                    || !piece.data().shape().equals(move.shape())
                    || !piece.data().isRowMajor()
                    || piece.data().negative()) {
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        move.tensor(),
                        "a tensor of " + packed.torchName()
                                + " can only be copied whole, but the plan divides or casts it");
            }
        }
        Shape bytes = Shape.of(packed.bytes(move.shape().elements()));
        return new TensorMove(
                move.tensor(),
                bytes,
                asBytes(move.sources(), bytes),
                move.fills(),
                asBytes(move.targets(), bytes),
                asBytes(move.replicas(), bytes));
    }

    private static List<Piece> asBytes(List<Piece> pieces, Shape bytes) {
        List<Piece> plain = new ArrayList<>();
        for (Piece piece : pieces) {
            StoredTensor data = piece.data();
            plain.add(Piece.whole(new StoredTensor(
                    DType.U8, bytes, new long[] {1}, data.source(), data.offset(), data.order(), false, false)));
        }
        return plain;
    }
}
