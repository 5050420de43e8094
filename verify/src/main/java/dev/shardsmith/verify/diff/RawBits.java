package dev.shardsmith.verify.diff;

import java.nio.ByteBuffer;

/** Compares elements that have no numeric meaning; of different ones only the place is known. */
final class RawBits {
    private RawBits() {}

    static void compare(ByteBuffer left, ByteBuffer right, int elements, long first, TensorComparison result) {
        result.values += elements;
        if (elements == 0) {
            return;
        }
        int size = left.remaining() / elements;
        for (int i = 0; i < elements; i++) {
            int at = i * size;
            if (left.slice(at, size).mismatch(right.slice(at, size)) >= 0) {
                result.differing++;
                result.beyond++;
                result.worst.add(new WorstElement(first + i, left.get(at) & 0xff, right.get(at) & 0xff, 0));
            }
        }
    }
}
