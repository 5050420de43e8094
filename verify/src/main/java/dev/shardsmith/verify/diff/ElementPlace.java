package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/**
 * Where one element of a logical tensor lies.
 *
 * @param index its index in each dimension
 * @param file the file that holds it
 * @param offset its first byte in the file
 */
public record ElementPlace(long[] index, Path file, long offset) {
    /** The place of the element with a row-major index; empty if it lies in no file. */
    public static Optional<ElementPlace> of(LogicalTensor tensor, long element) throws IOException {
        long[] index = tensor.shape().index(element);
        long[] one = new long[index.length];
        Arrays.fill(one, 1);
        Box box = new Box(index, one);
        for (Piece piece : tensor.pieces()) {
            if (piece.box().contains(box)) {
                StoredTensor view = piece.view(box);
                Optional<ByteSource.FileRange> range = view.source().inFile();
                return range.map(place -> new ElementPlace(index, place.file(), place.offset() + view.offset()));
            }
        }
        return Optional.empty();
    }

    /** {@code mp_rank_00/model.pt:4096} */
    @Override
    public String toString() {
        return file + ":" + offset;
    }
}
