package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Tensors that Megatron-core up to 0.15 stored as ranges of flattened shards.
 *
 * <p>A tensor of shape (X, Y) whose shards have shape (x, y) is stored with shape (X/x, Y/y, x·y). A chunk at (i, j, s) of
 * sizes (1, 1, n) holds the elements [s, s + n) of shard (i, j) in row-major order.
 */
final class FlattenedRanges {
    private FlattenedRanges() {}

    static List<DcpPiece> pieces(DcpTensor tensor) throws CheckpointException {
        long[] whole = tensor.logicalShape().toArray();
        long[] shard = shardSizes(tensor, whole);
        List<DcpPiece> pieces = new ArrayList<>();
        for (DcpChunk chunk : tensor.chunks()) {
            if (chunk.isEmpty()) {
                continue;
            }
            long[] at = chunk.offsets();
            long[] sizes = chunk.sizes();
            long[] origin = new long[whole.length];
            for (int dim = 0; dim < whole.length; dim++) {
                if (sizes[dim] != 1) {
                    throw malformed(tensor, "a chunk of flattened ranges spans several shards");
                }
                origin[dim] = Math.multiplyExact(at[dim], shard[dim]);
            }
            split(chunk, origin, shard, at[whole.length], sizes[whole.length], pieces);
        }
        return pieces;
    }

    private static long[] shardSizes(DcpTensor tensor, long[] whole) throws CheckpointException {
        long[] stored = tensor.shape().toArray();
        if (stored.length != whole.length + 1) {
            throw malformed(
                    tensor, "flattened ranges need one dimension more than the tensor " + Arrays.toString(whole));
        }
        long[] shard = new long[whole.length];
        for (int dim = 0; dim < whole.length; dim++) {
            if (stored[dim] == 0 || whole[dim] % stored[dim] != 0) {
                throw malformed(
                        tensor,
                        stored[dim] + " shards do not divide dimension " + dim + " of " + Arrays.toString(whole));
            }
            shard[dim] = whole[dim] / stored[dim];
        }
        if (Shape.of(shard).elements() != stored[whole.length]) {
            throw malformed(
                    tensor,
                    "shards of shape " + Arrays.toString(shard) + " do not have " + stored[whole.length] + " elements");
        }
        return shard;
    }

    /**
     * Cuts a run of a row-major shard into boxes: first the rest of the rows it begins in, from the innermost dimension
     * outwards, then whole slabs, then the beginning of the rows it ends in.
     */
    private static void split(
            DcpChunk chunk, long[] origin, long[] shard, long start, long length, List<DcpPiece> pieces) {
        long[] strides = Shape.of(shard).rowMajorStrides();
        long position = start;
        long end = start + length;
        while (position < end) {
            // The outermost dimension at whose boundary the position lies, and that still has a whole step to go.
            int dim = shard.length - 1;
            while (dim > 0 && position % strides[dim - 1] == 0 && end - position >= strides[dim - 1]) {
                dim--;
            }
            if (shard.length == 0) {
                pieces.add(DcpPiece.ofRange(chunk, 0, new long[0], new long[0]));
                return;
            }
            long index = position / strides[dim] % shard[dim];
            long steps = Math.min(shard[dim] - index, (end - position) / strides[dim]);
            long[] offsets = origin.clone();
            long[] sizes = new long[shard.length];
            for (int d = 0; d < shard.length; d++) {
                offsets[d] += d > dim ? 0 : position / strides[d] % shard[d];
                sizes[d] = d < dim ? 1 : d == dim ? steps : shard[d];
            }
            pieces.add(DcpPiece.ofRange(chunk, position - start, offsets, sizes));
            position += steps * strides[dim];
        }
    }

    private static CheckpointException malformed(DcpTensor tensor, String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, "tensor " + tensor.name(), problem);
    }
}
