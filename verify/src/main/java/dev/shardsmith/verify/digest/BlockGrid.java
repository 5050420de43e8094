package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.region.Box;
import java.util.Arrays;

/**
 * Cuts a tensor into boxes that follow each other in row-major order, each of at most about {@value #BYTES} bytes.
 *
 * <p>A block is a range of one dimension, with one index of each dimension before it and all of each after it. The cut
 * depends on shape and type alone, never on how a checkpoint divides the tensor.
 */
public final class BlockGrid {
    /** Small enough for the second-level cache, large enough that a read costs little more than its bytes. */
    private static final int BYTES = 512 * 1024;

    private final Shape shape;
    private final int dim;
    private final long inner;
    private final long rows;
    private final long perOuter;
    private final long blocks;

    private BlockGrid(Shape shape, int dim, long inner, long rows) {
        this.shape = shape;
        this.dim = dim;
        this.inner = inner;
        this.rows = rows;
        long size = shape.rank() == 0 ? 1 : shape.size(dim);
        this.perOuter = size / rows + (size % rows == 0 ? 0 : 1);
        this.blocks = shape.elements() == 0 ? 0 : shape.elements() / inner / size * perOuter;
    }

    /** The grid of a tensor of a byte-aligned type. */
    public static BlockGrid of(Shape shape, DType dtype) {
        long limit = BYTES / dtype.byteSize();
        int dim = Math.max(0, shape.rank() - 1);
        long inner = 1;
        while (dim > 0 && shape.elements() > 0 && inner <= limit / shape.size(dim)) {
            inner *= shape.size(dim);
            dim--;
        }
        long size = shape.rank() == 0 ? 1 : Math.max(1, shape.size(dim));
        return new BlockGrid(shape, dim, inner, Math.min(size, Math.max(1, limit / inner)));
    }

    /** Number of blocks; 0 for a tensor without elements. */
    public long blocks() {
        return blocks;
    }

    /** The box of a block. */
    public Box box(long block) {
        long[] offset = new long[shape.rank()];
        long[] size = new long[shape.rank()];
        Arrays.fill(size, 1);
        for (int d = dim + 1; d < size.length; d++) {
            size[d] = shape.size(d);
        }
        if (shape.rank() > 0) {
            offset[dim] = block % perOuter * rows;
            size[dim] = Math.min(rows, shape.size(dim) - offset[dim]);
            long outer = block / perOuter;
            for (int d = dim - 1; d >= 0; d--) {
                offset[d] = outer % shape.size(d);
                outer /= shape.size(d);
            }
        }
        return new Box(offset, size);
    }

    /** The row-major index of a block's first element. */
    public long firstElement(long block) {
        if (shape.rank() == 0) {
            return 0;
        }
        return block / perOuter * shape.size(dim) * inner + block % perOuter * rows * inner;
    }

    /** Bytes that the largest block needs. */
    public int blockBytes(DType dtype) {
        return Math.toIntExact(dtype.bytes(rows * inner));
    }
}
