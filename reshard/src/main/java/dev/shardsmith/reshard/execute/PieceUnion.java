package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Joins pieces that lie side by side both in the logical tensor and in the file, so that they are moved together. */
final class PieceUnion {
    private PieceUnion() {}

    /** Two pieces with the same layout place every element of the logical tensor by the same formula. */
    private record Layout(
            ByteSource source,
            DType dtype,
            long[] strides,
            long origin,
            ByteOrder order,
            boolean conjugate,
            boolean negative) {
        private static Layout of(Piece piece) {
            StoredTensor data = piece.data();
            long origin = data.offset();
            for (int dim = 0; dim < piece.at().length; dim++) {
                origin -= piece.at()[dim] * data.strides()[dim] * data.dtype().byteSize();
            }
            return new Layout(
                    data.source(),
                    data.dtype(),
                    data.strides(),
                    origin,
                    data.order(),
                    data.conjugate(),
                    data.negative());
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Layout layout
                    && origin == layout.origin
                    && dtype == layout.dtype
                    && order == layout.order
                    && conjugate == layout.conjugate
                    && negative == layout.negative
                    && Arrays.equals(strides, layout.strides)
                    && source.equals(layout.source);
        }

        @Override
        public int hashCode() {
            return 31 * (31 * source.hashCode() + Arrays.hashCode(strides)) + Long.hashCode(origin);
        }
    }

    /** The same elements in as few pieces as can be found by joining neighbours, in the order of their first piece. */
    static List<Piece> of(List<Piece> pieces) {
        if (pieces.size() < 2) {
            return pieces;
        }
        Map<Layout, List<Piece>> byLayout = new LinkedHashMap<>();
        for (Piece piece : pieces) {
            byLayout.computeIfAbsent(Layout.of(piece), layout -> new ArrayList<>())
                    .add(piece);
        }
        List<Piece> joined = new ArrayList<>();
        for (List<Piece> group : byLayout.values()) {
            List<Piece> rest = group;
            for (int dim = pieces.get(0).at().length - 1; dim >= 0 && rest.size() > 1; dim--) {
                rest = joinedAlong(dim, rest);
            }
            joined.addAll(rest);
        }
        return joined;
    }

    private static List<Piece> joinedAlong(int dim, List<Piece> pieces) {
        List<Piece> sorted = new ArrayList<>(pieces);
        sorted.sort(Comparator.<Piece, long[]>comparing(piece -> key(dim, piece), Arrays::compare));
        List<Piece> joined = new ArrayList<>();
        Piece open = sorted.get(0);
        for (Piece next : sorted.subList(1, sorted.size())) {
            if (adjacent(dim, open, next)) {
                StoredTensor data = open.data();
                long size = data.shape().size(dim) + next.data().shape().size(dim);
                open = new Piece(
                        open.at(),
                        new StoredTensor(
                                data.dtype(),
                                data.shape().with(dim, size),
                                data.strides(),
                                data.source(),
                                data.offset(),
                                data.order(),
                                data.conjugate(),
                                data.negative()));
            } else {
                joined.add(open);
                open = next;
            }
        }
        joined.add(open);
        return joined;
    }

    private static boolean adjacent(int dim, Piece first, Piece second) {
        for (int other = 0; other < first.at().length; other++) {
            boolean fits = other == dim
                    ? first.at()[dim] + first.data().shape().size(dim) == second.at()[dim]
                    : first.at()[other] == second.at()[other]
                            && first.data().shape().size(other)
                                    == second.data().shape().size(other);
            if (!fits) {
                return false;
            }
        }
        return true;
    }

    /** Offsets and sizes of the other dimensions, then the offset in {@code dim}. */
    private static long[] key(int dim, Piece piece) {
        int rank = piece.at().length;
        long[] key = new long[2 * rank - 1];
        int at = 0;
        for (int other = 0; other < rank; other++) {
            if (other != dim) {
                key[at++] = piece.at()[other];
                key[at++] = piece.data().shape().size(other);
            }
        }
        key[at] = piece.at()[dim];
        return key;
    }
}
