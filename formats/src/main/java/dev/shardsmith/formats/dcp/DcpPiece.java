package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import java.io.IOException;

/** A box of a tensor's logical shape that lies, in row-major order, in one chunk. */
public final class DcpPiece {
    private final DcpChunk chunk;
    private final long[] offsets;
    private final long[] sizes;
    private final long start;

    private DcpPiece(DcpChunk chunk, long[] offsets, long[] sizes, long start) {
        this.chunk = chunk;
        this.offsets = offsets;
        this.sizes = sizes;
        this.start = start;
    }

    /** The whole of a chunk. */
    static DcpPiece of(DcpChunk chunk) {
        return new DcpPiece(chunk, chunk.offsets(), chunk.sizes(), -1);
    }

    /** The elements [start, + product of sizes) of a flat chunk. */
    static DcpPiece ofRange(DcpChunk chunk, long start, long[] offsets, long[] sizes) {
        return new DcpPiece(chunk, offsets, sizes, start);
    }

    /** Where the box begins, one number per dimension. */
    public long[] offsets() {
        return offsets.clone();
    }

    /** Sizes of the box, one per dimension. */
    public long[] sizes() {
        return sizes.clone();
    }

    /** The chunk that holds the box. */
    public DcpChunk chunk() {
        return chunk;
    }

    /** The stored tensor of exactly the box's sizes; opens the item but reads no element. */
    public StoredTensor open() throws IOException {
        StoredTensor stored = chunk.open();
        if (start < 0) {
            return stored;
        }
        // A flat chunk has shape [1, …, 1, length]: only the last dimension counts.
        int last = stored.shape().rank() - 1;
        long step = stored.strides()[last];
        long[] strides = Shape.of(sizes).rowMajorStrides();
        for (int dim = 0; dim < strides.length; dim++) {
            strides[dim] = Math.multiplyExact(strides[dim], step);
        }
        StoredTensor from = stored.narrow(last, start, Shape.of(sizes).elements());
        return new StoredTensor(
                stored.dtype(),
                Shape.of(sizes),
                strides,
                stored.source(),
                from.offset(),
                stored.order(),
                stored.conjugate(),
                stored.negative());
    }
}
