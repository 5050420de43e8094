package dev.shardsmith.formats;

import java.util.Arrays;

/** Sizes of a tensor's dimensions, outermost first; immutable, every size at least 0, the product below 2^63. */
public final class Shape {
    /** The shape of a tensor without dimensions: one element. */
    public static final Shape SCALAR = new Shape(new long[0]);

    private final long[] sizes;
    private final long elements;

    private Shape(long[] sizes) {
        this.sizes = sizes;
        long product = 1;
        boolean empty = false;
        for (long size : sizes) {
            if (size < 0) {
                throw new IllegalArgumentException("negative size in " + Arrays.toString(sizes));
            }
            empty |= size == 0;
        }
        if (!empty) {
            for (long size : sizes) {
                product = Math.multiplyExact(product, size);
            }
        }
        this.elements = empty ? 0 : product;
    }

    /**
     * The shape with these sizes.
     *
     * @throws IllegalArgumentException if a size is negative
     * @throws ArithmeticException if the number of elements overflows; check numbers from files first
     */
    public static Shape of(long... sizes) {
        return sizes.length == 0 ? SCALAR : new Shape(sizes.clone());
    }

    /** Number of dimensions. */
    public int rank() {
        return sizes.length;
    }

    /** Size of dimension {@code dim}, 0 being the outermost. */
    public long size(int dim) {
        return sizes[dim];
    }

    /** Number of elements. */
    public long elements() {
        return elements;
    }

    /** A copy of the sizes. */
    public long[] toArray() {
        return sizes.clone();
    }

    /** This shape with another size in one dimension. */
    public Shape with(int dim, long size) {
        long[] copy = sizes.clone();
        copy[dim] = size;
        return Shape.of(copy);
    }

    /** Strides of the row-major layout, in elements. */
    public long[] rowMajorStrides() {
        long[] strides = new long[sizes.length];
        long stride = 1;
        for (int dim = sizes.length - 1; dim >= 0; dim--) {
            strides[dim] = stride;
            stride = Math.multiplyExact(stride, Math.max(1, sizes[dim]));
        }
        return strides;
    }

    /** The index in each dimension of the element with a row-major index. */
    public long[] index(long element) {
        long[] index = new long[sizes.length];
        long rest = element;
        for (int dim = index.length - 1; dim >= 0; dim--) {
            index[dim] = rest % sizes[dim];
            rest /= sizes[dim];
        }
        return index;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Shape that && Arrays.equals(sizes, that.sizes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(sizes);
    }

    /** {@code [4096, 128]}; {@code []} for a scalar. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("[");
        for (int dim = 0; dim < sizes.length; dim++) {
            text.append(dim == 0 ? "" : ", ").append(sizes[dim]);
        }
        return text.append(']').toString();
    }
}
