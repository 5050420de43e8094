package dev.shardsmith.formats;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Reads boxes of a strided tensor into row-major arrays.
 *
 * <p>Dimensions are taken in the order of their strides, largest first, until what is left lies close enough together to be
 * read in one piece; its elements are then put in their places.
 */
final class StridedGather {
    /** Longest piece read at once. */
    private static final long SPAN_BYTES = 1 << 20;

    /** Pieces up to this size are read whole however few of their bytes are wanted: it costs about one read. */
    private static final long SMALL_SPAN_BYTES = 16 << 10;

    /** Larger pieces are read whole if at least one byte in so many is wanted. */
    private static final long SPARSEST = 4;

    private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final StoredTensor tensor;
    private final int elementSize;

    /** Dimensions by stride, largest first. */
    private final int[] order;

    private byte[] span = new byte[0];
    private byte[] block;
    private long[] size;
    private long[] blockStrides;

    StridedGather(StoredTensor tensor) {
        this.tensor = tensor;
        this.elementSize = tensor.dtype().byteAligned() ? tensor.dtype().byteSize() : 1;
        List<Integer> dims = IntStream.range(0, tensor.shape().rank())
                .boxed()
                .sorted(Comparator.comparingLong((Integer dim) -> -tensor.strides()[dim]))
                .toList();
        this.order = dims.stream().mapToInt(dim -> dim).toArray();
    }

    /** Reads the box [start, start + size) into the beginning of an array, in row-major order. */
    void read(long[] start, long[] boxSize, byte[] target) throws IOException {
        block = target;
        size = boxSize;
        blockStrides = Shape.of(boxSize).rowMajorStrides();
        long first = 0;
        for (int dim = 0; dim < start.length; dim++) {
            first += start[dim] * tensor.strides()[dim];
        }
        read(0, first, 0);
    }

    private void read(int depth, long sourceElement, long blockElement) throws IOException {
        long last = 0;
        long wanted = 1;
        for (int i = depth; i < order.length; i++) {
            last += (size[order[i]] - 1) * tensor.strides()[order[i]];
            wanted *= size[order[i]];
        }
        long spanBytes = (last + 1) * elementSize;
        boolean dense = spanBytes <= SMALL_SPAN_BYTES || spanBytes / SPARSEST <= wanted * elementSize;
        if (depth == order.length || spanBytes <= SPAN_BYTES && dense) {
            readSpan(depth, sourceElement, blockElement, (int) spanBytes, wanted);
            return;
        }
        int dim = order[depth];
        for (long i = 0; i < size[dim]; i++) {
            read(depth + 1, sourceElement + i * tensor.strides()[dim], blockElement + i * blockStrides[dim]);
        }
    }

    private void readSpan(int depth, long sourceElement, long blockElement, int spanBytes, long wanted)
            throws IOException {
        long position = tensor.offset() + sourceElement * elementSize;
        int to = (int) (blockElement * elementSize);
        if (wanted * elementSize == spanBytes && sameOrder(depth)) {
            tensor.source().read(position, ByteBuffer.wrap(block, to, spanBytes));
            return;
        }
        if (span.length < spanBytes) {
            span = new byte[Math.max(spanBytes, (int) Math.min(SPAN_BYTES, 2L * span.length))];
        }
        tensor.source().read(position, ByteBuffer.wrap(span, 0, spanBytes));
        scatter(depth, 0, to);
    }

    /** True if the dimensions from {@code depth} on lie in the source as they do in the block. */
    private boolean sameOrder(int depth) {
        for (int i = depth; i < order.length; i++) {
            int dim = order[i];
            if (size[dim] > 1 && tensor.strides()[dim] != blockStrides[dim]) {
                return false;
            }
        }
        return true;
    }

    private void scatter(int depth, int from, int to) {
        if (depth == order.length) {
            System.arraycopy(span, from, block, to, elementSize);
            return;
        }
        int dim = order[depth];
        int count = (int) size[dim];
        int fromStep = (int) (tensor.strides()[dim] * elementSize);
        int toStep = (int) (blockStrides[dim] * elementSize);
        if (depth < order.length - 1) {
            for (int i = 0; i < count; i++) {
                scatter(depth + 1, from + i * fromStep, to + i * toStep);
            }
        } else if (fromStep == elementSize && toStep == elementSize) {
            System.arraycopy(span, from, block, to, count * elementSize);
        } else {
            scatterElements(count, from, fromStep, to, toStep);
        }
    }

    private void scatterElements(int count, int from, int fromStep, int to, int toStep) {
        switch (elementSize) {
            case 1 -> {
                for (int i = 0; i < count; i++) {
                    block[to + i * toStep] = span[from + i * fromStep];
                }
            }
            case 2 -> {
                for (int i = 0; i < count; i++) {
                    SHORT.set(block, to + i * toStep, (short) SHORT.get(span, from + i * fromStep));
                }
            }
            case 4 -> {
                for (int i = 0; i < count; i++) {
                    INT.set(block, to + i * toStep, (int) INT.get(span, from + i * fromStep));
                }
            }
            case 8 -> {
                for (int i = 0; i < count; i++) {
                    LONG.set(block, to + i * toStep, (long) LONG.get(span, from + i * fromStep));
                }
            }
            default -> {
                for (int i = 0; i < count; i++) {
                    System.arraycopy(span, from + i * fromStep, block, to + i * toStep, elementSize);
                }
            }
        }
    }
}
