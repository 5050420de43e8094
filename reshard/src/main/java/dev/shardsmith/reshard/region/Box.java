package dev.shardsmith.reshard.region;

import dev.shardsmith.formats.Shape;
import java.util.Arrays;
import java.util.Optional;

/**
 * A box of a tensor: an offset and a size per dimension, in elements, outermost dimension first.
 *
 * @param offset first index of each dimension
 * @param size number of indices of each dimension
 */
public record Box(long[] offset, long[] size) {
    /** A box; both arrays have one entry a dimension and are not changed afterwards. */
    public Box {
        if (offset.length != size.length) {
            throw new IllegalArgumentException(Arrays.toString(offset) + " and " + Arrays.toString(size));
        }
    }

    /** The box that is the whole tensor. */
    public static Box whole(Shape shape) {
        return new Box(new long[shape.rank()], shape.toArray());
    }

    /** The box [start, start + length) in one dimension of a shape, everything in the others. */
    public static Box slice(Shape shape, int dim, long start, long length) {
        Box box = whole(shape);
        box.offset[dim] = start;
        box.size[dim] = length;
        return box;
    }

    /** Number of dimensions. */
    public int rank() {
        return offset.length;
    }

    /** The sizes as a shape. */
    public Shape shape() {
        return Shape.of(size);
    }

    /** Number of elements. */
    public long elements() {
        return shape().elements();
    }

    /** What both boxes have in common, if it has elements; boxes without dimensions share their one element. */
    public Optional<Box> intersect(Box other) {
        long[] start = new long[offset.length];
        long[] length = new long[offset.length];
        for (int dim = 0; dim < offset.length; dim++) {
            start[dim] = Math.max(offset[dim], other.offset[dim]);
            long end = Math.min(offset[dim] + size[dim], other.offset[dim] + other.size[dim]);
            if (end <= start[dim]) {
                return Optional.empty();
            }
            length[dim] = end - start[dim];
        }
        return Optional.of(new Box(start, length));
    }

    /** True if every element of {@code other} lies in this box. */
    public boolean contains(Box other) {
        for (int dim = 0; dim < offset.length; dim++) {
            if (other.offset[dim] < offset[dim] || other.offset[dim] + other.size[dim] > offset[dim] + size[dim]) {
                return false;
            }
        }
        return true;
    }

    /** The same box with {@code origin} subtracted from its offset. */
    public Box relativeTo(long[] origin) {
        long[] moved = offset.clone();
        for (int dim = 0; dim < moved.length; dim++) {
            moved[dim] -= origin[dim];
        }
        return new Box(moved, size);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Box that && Arrays.equals(offset, that.offset) && Arrays.equals(size, that.size);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(offset) + Arrays.hashCode(size);
    }

    /** {@code [0:4, 128:256]} */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("[");
        for (int dim = 0; dim < offset.length; dim++) {
            text.append(dim == 0 ? "" : ", ").append(offset[dim]).append(':').append(offset[dim] + size[dim]);
        }
        return text.append(']').toString();
    }
}
