package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/** Checks the coordinates of sparse tensors, which PyTorch takes on trust when it loads a file. */
public final class SparseIndices {
    private SparseIndices() {}

    /**
     * Fails if a tensor in coordinate form has a coordinate outside its shape, or one twice though it claims to be coalesced.
     *
     * @param file the file that the tensor is from
     * @param tensor a tensor of kind {@link TensorKind#SPARSE_COO}
     */
    public static void check(TorchFile file, NamedTensor tensor) throws IOException {
        Shape shape = tensor.tensor().shape();
        StoredTensor indices = part(file, tensor, 0);
        StoredTensor values = part(file, tensor, 1);
        boolean fits = indices.dtype() == DType.I64
                && indices.shape().rank() == 2
                && indices.shape().size(0) <= shape.rank()
                && values.shape().rank() >= 1
                && values.shape().size(0) == indices.shape().size(1);
        if (!fits) {
            throw malformed(
                    tensor,
                    "its indices of shape " + indices.shape() + " do not fit its values of shape " + values.shape());
        }
        Set<Long> seen = new HashSet<>();
        boolean unique = tensor.tensor().coalesced().orElse(false);
        long[] places = new long[Math.toIntExact(indices.shape().size(1))];
        for (int dim = 0; dim < indices.shape().size(0); dim++) {
            readDimension(tensor, indices.select(0, dim), shape.size(dim), places);
        }
        for (long place : places) {
            if (unique && !seen.add(place)) {
                throw malformed(tensor, "it claims to be coalesced, but has a coordinate twice");
            }
        }
    }

    /** Checks the coordinates of one dimension and adds them to the row-major places so far. */
    private static void readDimension(NamedTensor tensor, StoredTensor coordinates, long size, long[] places)
            throws IOException {
        int[] next = {0};
        ElementReader.forEachBlock(coordinates, block -> {
            while (block.hasRemaining()) {
                long coordinate = block.getLong();
                if (coordinate < 0 || coordinate >= size) {
                    throw malformed(tensor, "it has coordinate " + coordinate + " in a dimension of size " + size);
                }
                places[next[0]] = places[next[0]] * size + coordinate;
                next[0]++;
            }
        });
    }

    private static StoredTensor part(TorchFile file, NamedTensor tensor, int index) throws IOException {
        return file.tensor(tensor.tensor().parts().get(index).node())
                .flatMap(TorchTensor::data)
                .orElseThrow(() -> malformed(tensor, "its parts have no values"));
    }

    private static CheckpointException malformed(NamedTensor tensor, String problem) {
        return CheckpointException.of(
                CheckpointException.Kind.MALFORMED,
                "tensor " + tensor.name(),
                "the sparse tensor is malformed: " + problem);
    }
}
