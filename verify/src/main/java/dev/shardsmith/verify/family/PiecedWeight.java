package dev.shardsmith.verify.family;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.forward.StoredElements;
import dev.shardsmith.verify.forward.StoredWeight;
import dev.shardsmith.verify.forward.WeightSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A weight that several views hold together.
 *
 * @param tensor where its pieces lie
 */
record PiecedWeight(LogicalTensor tensor) implements WeightSource {
    private static final long MOST_RUNS = 1 << 18;

    @Override
    public int elements() {
        return Math.toIntExact(tensor.shape().elements());
    }

    @Override
    public Set<DType> types() {
        return Set.of(tensor.dtype());
    }

    @Override
    public Optional<StoredElements> stored() throws IOException {
        List<Piece> pieces = tensor.pieces();
        if (pieces.size() == 1 || tensor.shape().rank() < 1) {
            return isOnePiece() ? storedOf(pieces.get(0).data()) : Optional.empty();
        }
        if (areSlices(pieces)) {
            return concat(pieces.stream().map(piece -> storedOf(piece.data())).toList());
        }
        return tensor.shape().rank() == 2 ? storedByRows(pieces) : Optional.empty();
    }

    private Optional<StoredElements> storedOf(StoredTensor data) {
        return StoredElements.of(tensor.name(), data);
    }

    private static Optional<StoredElements> concat(List<Optional<StoredElements>> parts) {
        List<StoredElements> all = parts.stream().flatMap(Optional::stream).toList();
        return all.size() == parts.size() ? Optional.of(StoredElements.concat(all)) : Optional.empty();
    }

    /** Whether the pieces are runs of rows, one after the other. */
    private boolean areSlices(List<Piece> pieces) {
        long next = 0;
        for (Piece piece : pieces) {
            for (int dim = 0; dim < tensor.shape().rank(); dim++) {
                long begin = dim == 0 ? next : 0;
                boolean whole = dim == 0
                        || piece.data().shape().size(dim) == tensor.shape().size(dim);
                if (!whole || piece.at()[dim] != begin) {
                    return false;
                }
            }
            next += piece.data().shape().size(0);
        }
        return true;
    }

    /** Row after row, from all pieces that hold a part of it. */
    private Optional<StoredElements> storedByRows(List<Piece> pieces) {
        long rows = tensor.shape().size(0);
        if (rows * pieces.size() > MOST_RUNS) {
            return Optional.empty();
        }
        List<Piece> byColumn = new ArrayList<>(pieces);
        byColumn.sort(Comparator.comparingLong(piece -> piece.at()[1]));
        List<Optional<StoredElements>> runs = new ArrayList<>();
        for (long row = 0; row < rows; row++) {
            for (Piece piece : byColumn) {
                long inside = row - piece.at()[0];
                if (inside >= 0 && inside < piece.data().shape().size(0)) {
                    runs.add(storedOf(piece.data().select(0, inside)));
                }
            }
        }
        return concat(runs);
    }

    private boolean isOnePiece() throws IOException {
        List<Piece> pieces = tensor.pieces();
        return pieces.size() == 1 && pieces.get(0).data().shape().equals(tensor.shape());
    }

    @Override
    public float[] load() throws IOException {
        List<Piece> pieces = tensor.pieces();
        if (isOnePiece()) {
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
