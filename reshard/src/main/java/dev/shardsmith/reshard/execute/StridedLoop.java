package dev.shardsmith.reshard.execute;

import java.nio.ByteBuffer;

/**
 * A nest of loops that pairs elements of two strided layouts, {@code far} in a file and {@code near} in a buffer.
 *
 * <p>The loops are ordered by descending stride in the file, and loops that run on in both layouts are joined, so that the
 * innermost loop is the longest stretch of the file. All strides are in bytes.
 */
final class StridedLoop {
    private final int elementBytes;
    private final int depth;
    private final long[] size;
    private final long[] far;
    private final long[] near;

    private StridedLoop(int elementBytes, int depth, long[] size, long[] far, long[] near) {
        this.elementBytes = elementBytes;
        this.depth = depth;
        this.size = size;
        this.far = far;
        this.near = near;
    }

    /** The loops over a box of the given sizes; strides are in elements. */
    static StridedLoop of(long[] sizes, long[] farStrides, long[] nearStrides, int elementBytes) {
        int rank = sizes.length;
        long[] size = new long[rank];
        long[] far = new long[rank];
        long[] near = new long[rank];
        int depth = 0;
        for (int dim = 0; dim < rank; dim++) {
            if (sizes[dim] == 1) {
                continue;
            }
            long stride = farStrides[dim] * elementBytes;
            int at = depth;
            while (at > 0 && far[at - 1] < stride) {
                size[at] = size[at - 1];
                far[at] = far[at - 1];
                near[at] = near[at - 1];
                at--;
            }
            size[at] = sizes[dim];
            far[at] = stride;
            near[at] = nearStrides[dim] * elementBytes;
            depth++;
        }
        return new StridedLoop(elementBytes, joined(depth, size, far, near), size, far, near);
    }

    private static int joined(int depth, long[] size, long[] far, long[] near) {
        int kept = 0;
        for (int loop = 1; loop < depth; loop++) {
            boolean runsOn = far[kept] == size[loop] * far[loop] && near[kept] == size[loop] * near[loop];
            if (runsOn) {
                size[kept] *= size[loop];
            } else {
                kept++;
                size[kept] = size[loop];
            }
            far[kept] = far[loop];
            near[kept] = near[loop];
        }
        return depth == 0 ? 0 : kept + 1;
    }

    /** Number of loops. */
    int depth() {
        return depth;
    }

    /** Iterations of a loop, 0 being the outermost. */
    long size(int loop) {
        return size[loop];
    }

    /** Bytes between iterations of a loop in the file. */
    long far(int loop) {
        return far[loop];
    }

    /** Bytes between iterations of a loop in the buffer. */
    long near(int loop) {
        return near[loop];
    }

    /** Bytes from the first to the last byte in the file of the loops from {@code loop} on. */
    long farSpan(int loop) {
        long span = elementBytes;
        for (int inner = loop; inner < depth; inner++) {
            span += (size[inner] - 1) * far[inner];
        }
        return span;
    }

    /** The number of innermost loops in which the file has neither gaps nor repetitions, as the outermost of them. */
    int farContiguousFrom() {
        return contiguousFrom(far);
    }

    /** As {@link #farContiguousFrom} for the buffer, given that both layouts run in the same order. */
    int nearContiguousFrom() {
        return contiguousFrom(near);
    }

    private int contiguousFrom(long[] strides) {
        long expected = elementBytes;
        int loop = depth;
        while (loop > 0 && strides[loop - 1] == expected) {
            expected *= size[loop - 1];
            loop--;
        }
        return loop;
    }

    /** Copies {@code count} iterations of loop {@code loop}, whole iterations of those inside, from the file's layout. */
    void gather(int loop, long count, ByteBuffer farBytes, int farAt, ByteBuffer nearBytes, int nearAt) {
        copy(loop, count, farBytes, far, farAt, nearBytes, near, nearAt);
    }

    /** Copies {@code count} iterations of loop {@code loop}, whole iterations of those inside, to the file's layout. */
    void scatter(int loop, long count, ByteBuffer nearBytes, int nearAt, ByteBuffer farBytes, int farAt) {
        copy(loop, count, nearBytes, near, nearAt, farBytes, far, farAt);
    }

    private void copy(
            int loop,
            long count,
            ByteBuffer from,
            long[] fromStep,
            int fromAt,
            ByteBuffer to,
            long[] toStep,
            int toAt) {
        if (loop >= depth) {
            to.put(toAt, from, fromAt, elementBytes);
            return;
        }
        int iterations = (int) count;
        int fromStride = (int) fromStep[loop];
        int toStride = (int) toStep[loop];
        if (loop == depth - 1) {
            copyRun(iterations, from, fromStride, fromAt, to, toStride, toAt);
            return;
        }
        for (int i = 0; i < iterations; i++) {
            copy(loop + 1, size[loop + 1], from, fromStep, fromAt + i * fromStride, to, toStep, toAt + i * toStride);
        }
    }

    private void copyRun(
            int count, ByteBuffer from, int fromStride, int fromAt, ByteBuffer to, int toStride, int toAt) {
        if (fromStride == elementBytes && toStride == elementBytes) {
            to.put(toAt, from, fromAt, count * elementBytes);
            return;
        }
        switch (elementBytes) {
            case 1 -> {
                for (int i = 0; i < count; i++) {
                    to.put(toAt + i * toStride, from.get(fromAt + i * fromStride));
                }
            }
            case 2 -> {
                for (int i = 0; i < count; i++) {
                    to.putShort(toAt + i * toStride, from.getShort(fromAt + i * fromStride));
                }
            }
            case 4 -> {
                for (int i = 0; i < count; i++) {
                    to.putInt(toAt + i * toStride, from.getInt(fromAt + i * fromStride));
                }
            }
            case 8 -> {
                for (int i = 0; i < count; i++) {
                    to.putLong(toAt + i * toStride, from.getLong(fromAt + i * fromStride));
                }
            }
            default -> {
                for (int i = 0; i < count; i++) {
                    to.put(toAt + i * toStride, from, fromAt + i * fromStride, elementBytes);
                }
            }
        }
    }
}
