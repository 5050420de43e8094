package dev.shardsmith.verify.family;

import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.forward.StoredWeight;
import dev.shardsmith.verify.forward.WeightSource;
import java.io.IOException;
import java.util.List;

/**
 * A weight that several views hold together.
 *
 * @param tensor where its pieces lie
 */
record PiecedWeight(LogicalTensor tensor) implements WeightSource {

    @Override
    public int elements() {
        return Math.toIntExact(tensor.shape().elements());
    }

    @Override
    public double unit() {
        return StoredWeight.unitOf(tensor.dtype());
    }

    @Override
    public float[] load() throws IOException {
        List<Piece> pieces = tensor.pieces();
        if (pieces.size() == 1 && pieces.get(0).data().shape().equals(tensor.shape())) {
            return new StoredWeight(tensor.name(), pieces.get(0).data()).load();
        }
        float[] whole = new float[elements()];
        for (Piece piece : pieces) {
            float[] part = new StoredWeight(tensor.name(), piece.data()).load();
            place(part, piece, whole);
        }
        return whole;
    }

    /** Copies the runs of a piece's last dimension to their places. */
    private void place(float[] part, Piece piece, float[] whole) {
        long[] sizes = piece.data().shape().toArray();
        long[] strides = tensor.shape().rowMajorStrides();
        int rank = sizes.length;
        int run = rank == 0 ? 1 : Math.toIntExact(sizes[rank - 1]);
        for (int at = 0; at < part.length; at += run) {
            long rest = run == 0 ? 0 : at / run;
            long target = rank == 0 ? 0 : piece.at()[rank - 1];
            for (int dim = rank - 2; dim >= 0; dim--) {
                target += (piece.at()[dim] + rest % sizes[dim]) * strides[dim];
                rest /= sizes[dim];
            }
            System.arraycopy(part, at, whole, Math.toIntExact(target), run);
        }
    }
}
