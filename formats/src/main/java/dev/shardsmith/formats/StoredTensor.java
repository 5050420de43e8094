package dev.shardsmith.formats;

import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A strided view of bytes: where each element of a tensor lies in a file.
 *
 * <p>Element (i0, i1, …) begins at byte {@code offset + Σ i_d · strides[d] · dtype.byteSize()} of {@code source}. Views
 * ({@link #narrow}, {@link #select}, {@link #transpose}, {@link #split}) cost nothing and read nothing.
 *
 * @param dtype element type
 * @param shape sizes, outermost dimension first
 * @param strides one per dimension, in elements, at least 0
 * @param source where the bytes lie
 * @param offset position of the first element in {@code source}, in bytes
 * @param order byte order of the elements as stored
 * @param conjugate imaginary parts are stored with the other sign (PyTorch's lazy conjugation)
 * @param negative values are stored with the other sign (PyTorch's lazy negation)
 */
public record StoredTensor(
        DType dtype,
        Shape shape,
        long[] strides,
        ByteSource source,
        long offset,
        ByteOrder order,
        boolean conjugate,
        boolean negative) {

    /** Checks that the geometry is consistent; {@link #checked} also checks it against the source. */
    public StoredTensor {
        if (strides.length != shape.rank()) {
            throw new IllegalArgumentException("strides " + Arrays.toString(strides) + " for shape " + shape);
        }
    }

    /**
     * A view of a source, checked to lie inside it.
     *
     * @param name of the tensor, for the message; empty where the source's name says enough
     * @throws CheckpointException if an element would lie outside the source
     */
    public static StoredTensor checked(
            String name, DType dtype, Shape shape, long[] strides, ByteSource source, long offset, ByteOrder order)
            throws CheckpointException {
        StoredTensor tensor = new StoredTensor(dtype, shape, strides, source, offset, order, false, false);
        if (shape.elements() > 0) {
            long end;
            try {
                end = tensor.endOffset();
            } catch (ArithmeticException e) {
                throw CheckpointException.of(
                        CheckpointException.Kind.MALFORMED, source.name(), called(name) + ": the size overflows");
            }
            if (offset < 0 || end > source.size()) {
                throw CheckpointException.of(
                        CheckpointException.Kind.MALFORMED,
                        source.name(),
                        called(name) + " of shape " + shape + " ends at byte " + end + ", but its data is "
                                + source.size() + " bytes long");
            }
        }
        return tensor;
    }

    private static String called(String name) {
        return name.isEmpty() ? "a tensor" : "tensor " + name;
    }

    /** A row-major, little-endian tensor at {@code offset} of a source, checked to lie inside it. */
    public static StoredTensor contiguous(String name, DType dtype, Shape shape, ByteSource source, long offset)
            throws CheckpointException {
        return checked(name, dtype, shape, shape.rowMajorStrides(), source, offset, ByteOrder.LITTLE_ENDIAN);
    }

    /** The position after the last byte of the view, in the source; {@code offset} if it has no elements. */
    public long endOffset() {
        if (shape.elements() == 0) {
            return offset;
        }
        long last = 0;
        for (int dim = 0; dim < strides.length; dim++) {
            last = Math.addExact(last, Math.multiplyExact(shape.size(dim) - 1, strides[dim]));
        }
        return Math.addExact(offset, dtype.bytes(Math.addExact(last, 1L)));
    }

    /** Bytes of the elements, each counted once. */
    public long bytes() {
        return dtype.bytes(shape.elements());
    }

    /** True if the elements lie one after the other in row-major order. */
    public boolean isRowMajor() {
        long expected = 1;
        for (int dim = strides.length - 1; dim >= 0; dim--) {
            if (shape.size(dim) != 1) {
                if (strides[dim] != expected) {
                    return shape.elements() == 0;
                }
                expected *= shape.size(dim);
            }
        }
        return true;
    }

    /** Elements [start, start + length) of one dimension. */
    public StoredTensor narrow(int dim, long start, long length) {
        if (start < 0 || length < 0 || start > shape.size(dim) - length) {
            throw new IndexOutOfBoundsException(
                    "[" + start + ", +" + length + ") of dimension " + dim + " of " + shape);
        }
        return with(shape.with(dim, length), strides, move(dim, length == 0 ? 0 : start));
    }

    /** The box of the given offsets and sizes. */
    public StoredTensor narrow(long[] offsets, long[] sizes) {
        StoredTensor view = this;
        for (int dim = 0; dim < offsets.length; dim++) {
            view = view.narrow(dim, offsets[dim], sizes[dim]);
        }
        return view;
    }

    /** One index of one dimension; the dimension goes away. */
    public StoredTensor select(int dim, long index) {
        StoredTensor one = narrow(dim, index, 1);
        return one.with(Shape.of(remove(shape.toArray(), dim)), remove(strides, dim), one.offset);
    }

    /** Two dimensions exchanged. */
    public StoredTensor transpose(int a, int b) {
        long[] sizes = shape.toArray();
        long[] moved = strides.clone();
        sizes[a] = shape.size(b);
        sizes[b] = shape.size(a);
        moved[a] = strides[b];
        moved[b] = strides[a];
        return with(Shape.of(sizes), moved, offset);
    }

    /** Dimension {@code dim} of size outer·inner becomes two dimensions [outer, inner]. */
    public StoredTensor split(int dim, long outer) {
        long size = shape.size(dim);
        if (outer <= 0 || size % outer != 0) {
            throw new IllegalArgumentException("dimension " + dim + " of " + shape + " in " + outer + " parts");
        }
        long[] sizes = insert(shape.toArray(), dim, outer);
        sizes[dim + 1] = size / outer;
        long[] moved = insert(strides, dim, strides[dim] * (size / outer));
        return with(Shape.of(sizes), moved, offset);
    }

    /** A dimension of size 1 repeated {@code size} times without copies (stride 0). */
    public StoredTensor expand(int dim, long size) {
        if (shape.size(dim) != 1) {
            throw new IllegalArgumentException("dimension " + dim + " of " + shape + " is not 1");
        }
        long[] moved = strides.clone();
        moved[dim] = 0;
        return with(shape.with(dim, size), moved, offset);
    }

    /** The same view with lazy conjugation and negation set. */
    public StoredTensor withFlags(boolean conjugated, boolean negated) {
        return new StoredTensor(dtype, shape, strides, source, offset, order, conjugated, negated);
    }

    private long move(int dim, long start) {
        return start == 0 ? offset : Math.addExact(offset, dtype.bytes(Math.multiplyExact(start, strides[dim])));
    }

    private StoredTensor with(Shape newShape, long[] newStrides, long newOffset) {
        return new StoredTensor(dtype, newShape, newStrides, source, newOffset, order, conjugate, negative);
    }

    private static long[] remove(long[] values, int index) {
        long[] shorter = new long[values.length - 1];
        System.arraycopy(values, 0, shorter, 0, index);
        System.arraycopy(values, index + 1, shorter, index, shorter.length - index);
        return shorter;
    }

    private static long[] insert(long[] values, int index, long value) {
        long[] longer = new long[values.length + 1];
        System.arraycopy(values, 0, longer, 0, index);
        longer[index] = value;
        System.arraycopy(values, index, longer, index + 1, values.length - index);
        return longer;
    }
}
