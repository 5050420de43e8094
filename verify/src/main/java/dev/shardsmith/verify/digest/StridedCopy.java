package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.StoredTensor;
import java.nio.ByteBuffer;

/** Copies a strided view in memory to another strided place, run by run. */
final class StridedCopy {
    private final int runElements;
    private final int elementBytes;
    private final long[] sizes;
    private final long[] from;
    private final long[] to;

    private StridedCopy(int runElements, int elementBytes, long[] sizes, long[] from, long[] to) {
        this.runElements = runElements;
        this.elementBytes = elementBytes;
        this.sizes = sizes;
        this.from = from;
        this.to = to;
    }

    /** A copy of {@code sizes} elements; strides count elements. */
    static StridedCopy of(long[] sizes, long[] from, long[] to, int elementBytes) {
        long run = BlockReader.contiguous(sizes, from, to);
        int[] outer = new int[sizes.length];
        int count = 0;
        long passed = 1;
        for (int dim = sizes.length - 1; dim >= 0; dim--) {
            if (sizes[dim] == 1) {
                continue;
            }
            if (passed < run) {
                passed *= sizes[dim];
            } else {
                outer[count++] = dim;
            }
        }
        return new StridedCopy(
                Math.toIntExact(run),
                elementBytes,
                pick(sizes, outer, count),
                pick(from, outer, count),
                pick(to, outer, count));
    }

    /** The entries of the given dimensions, which are listed from the innermost on, outermost first. */
    private static long[] pick(long[] values, int[] dims, int count) {
        long[] picked = new long[count];
        for (int i = 0; i < count; i++) {
            picked[count - 1 - i] = values[dims[i]];
        }
        return picked;
    }

    /** Copies from index 0 of {@code source} to byte {@code at} of {@code target}; {@code view} tells the stored order. */
    void run(ByteBuffer source, ByteBuffer target, int at, StoredTensor view) {
        long[] index = new long[sizes.length];
        int read = 0;
        int write = at;
        boolean plain = StoredOrder.isPlain(view);
        while (true) {
            copyRun(source, read, target, write);
            if (!plain) {
                StoredOrder.toLittleEndian(view, target, write, runElements);
            }
            int dim = sizes.length - 1;
            while (dim >= 0 && ++index[dim] == sizes[dim]) {
                read -= (int) ((sizes[dim] - 1) * from[dim]) * elementBytes;
                write -= (int) ((sizes[dim] - 1) * to[dim]) * elementBytes;
                index[dim--] = 0;
            }
            if (dim < 0) {
                return;
            }
            read += (int) from[dim] * elementBytes;
            write += (int) to[dim] * elementBytes;
        }
    }

    private void copyRun(ByteBuffer source, int read, ByteBuffer target, int write) {
        int bytes = runElements * elementBytes;
        switch (bytes) {
            case 1 -> target.put(write, source.get(read));
            case 2 -> target.putShort(write, source.getShort(read));
            case 4 -> target.putInt(write, source.getInt(read));
            case 8 -> target.putLong(write, source.getLong(read));
            default -> target.put(write, source, read, bytes);
        }
    }
}
