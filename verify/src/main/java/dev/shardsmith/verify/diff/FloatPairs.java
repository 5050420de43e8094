package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;

/**
 * The fast path for the two types that weights mostly have: finite 32-bit floats and bfloat16s against their own kind.
 *
 * <p>It works on the bits as whole numbers wherever it can, in short loops over arrays that the compiler turns into vector
 * instructions. What it cannot do, values that are not finite and distances beyond 2^31, it leaves to the general path.
 */
final class FloatPairs {
    private static final int CHUNK = ElementDecoder.CHUNK;

    private final boolean halfWidth;
    private final Tolerance tolerance;
    private final int[] leftBits = new int[CHUNK];
    private final int[] rightBits = new int[CHUNK];
    private final int[] words = new int[CHUNK / 2];
    private final int[] steps = new int[CHUNK];
    private final float[] left = new float[CHUNK];
    private final float[] right = new float[CHUNK];
    private final int[] ulps = new int[128];
    private final IntBuffer bitsView;
    private final FloatBuffer floatsView;

    FloatPairs(DType dtype, Tolerance tolerance) {
        this.halfWidth = dtype == DType.BF16;
        this.tolerance = tolerance;
        ByteBuffer shared = ByteBuffer.allocate(CHUNK * Float.BYTES).order(ByteOrder.nativeOrder());
        this.bitsView = shared.asIntBuffer();
        this.floatsView = shared.asFloatBuffer();
    }

    static boolean handles(DType dtype) {
        return dtype == DType.F32 || dtype == DType.C64 || dtype == DType.BF16;
    }

    /**
     * Compares {@code count} values from byte {@code offset} of two blocks on.
     *
     * @return false if nothing was done, because this is for the general path
     */
    boolean compare(
            ByteBuffer leftBlock, ByteBuffer rightBlock, int offset, int count, long index, TensorComparison result) {
        if (halfWidth && count % 2 != 0) {
            return false;
        }
        load(leftBlock, offset, count, leftBits, left);
        load(rightBlock, offset, count, rightBits, right);
        int shift = halfWidth ? 16 : 0;
        if (distances(leftBits, rightBits, steps, count, shift) < 0 || !sums(count, result)) {
            return false;
        }
        int different = differing(leftBits, rightBits, count);
        result.differing += different;
        result.beyond += tolerance.isExact() ? different : beyond(count);
        result.maxUlp = Math.max(result.maxUlp, largest(steps, count));
        count(count, result);
        result.ulps[0] -= count - different;
        extremes(count, index, result);
        return true;
    }

    /** Brings values into the arrays; of bfloat16s first those at even places and then those at odd ones. */
    private void load(ByteBuffer block, int offset, int count, int[] bits, float[] values) {
        ByteBuffer view = block.duplicate();
        view.clear().position(offset);
        IntBuffer source = view.slice().order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
        if (halfWidth) {
            int half = count / 2;
            source.get(words, 0, half);
            for (int i = 0; i < half; i++) {
                bits[i] = words[i] << 16;
            }
            for (int i = 0; i < half; i++) {
                bits[half + i] = words[i] & 0xffff0000;
            }
        } else {
            source.get(bits, 0, count);
        }
        bitsView.put(0, bits, 0, count);
        floatsView.get(0, values, 0, count);
    }

    private long place(int i, int count) {
        int half = count / 2;
        return !halfWidth ? i : i < half ? 2L * i : 2L * (i - half) + 1;
    }

    /** Distances in units in the last place; negative if one does not fit. */
    private static int distances(int[] a, int[] b, int[] out, int count, int shift) {
        int signs = 0;
        for (int i = 0; i < count; i++) {
            int x = a[i] >> 31;
            int y = b[i] >> 31;
            int left = (((a[i] & 0x7fffffff) >> shift) ^ x) - x;
            int right = (((b[i] & 0x7fffffff) >> shift) ^ y) - y;
            int distance = left - right;
            // Numbers of different sign may be more than 2^31 apart.
            signs |= (left ^ right) & (left ^ distance);
            int z = distance >> 31;
            out[i] = (distance ^ z) - z;
        }
        return signs;
    }

    private static int differing(int[] a, int[] b, int count) {
        int different = 0;
        for (int i = 0; i < count; i++) {
            int bits = a[i] ^ b[i];
            different += (bits | -bits) >>> 31;
        }
        return different;
    }

    private static int largest(int[] values, int count) {
        int largest = 0;
        for (int i = 0; i < count; i++) {
            largest = Math.max(largest, values[i]);
        }
        return largest;
    }

    private void count(int count, TensorComparison result) {
        Arrays.fill(ulps, 0);
        for (int i = 0; i < count; i++) {
            ulps[(i & 1) << 6 | 32 - Integer.numberOfLeadingZeros(steps[i])]++;
        }
        for (int bucket = 0; bucket <= 32; bucket++) {
            result.ulps[bucket] += ulps[bucket] + ulps[64 | bucket];
        }
    }

    /** Adds the sums of products; false, with nothing added, if a value is not finite. */
    private boolean sums(int count, TensorComparison result) {
        double dot0 = 0;
        double dot1 = 0;
        double left0 = 0;
        double left1 = 0;
        double right0 = 0;
        double right1 = 0;
        double difference0 = 0;
        double difference1 = 0;
        int i = 0;
        for (; i + 1 < count; i += 2) {
            double a0 = left[i];
            double b0 = right[i];
            double d0 = a0 - b0;
            double a1 = left[i + 1];
            double b1 = right[i + 1];
            double d1 = a1 - b1;
            dot0 += a0 * b0;
            dot1 += a1 * b1;
            left0 += a0 * a0;
            left1 += a1 * a1;
            right0 += b0 * b0;
            right1 += b1 * b1;
            difference0 += d0 * d0;
            difference1 += d1 * d1;
        }
        if (i < count) {
            double a = left[i];
            double b = right[i];
            dot0 += a * b;
            left0 += a * a;
            right0 += b * b;
            difference0 += (a - b) * (a - b);
        }
        if (!Double.isFinite(left0 + left1) || !Double.isFinite(right0 + right1)) {
            return false;
        }
        result.dot += dot0 + dot1;
        result.leftSquares += left0 + left1;
        result.rightSquares += right0 + right1;
        result.squaredDifferences += difference0 + difference1;
        return true;
    }

    private void extremes(int count, long index, TensorComparison result) {
        double maxAbs = result.maxAbs;
        double maxRel = result.maxRel;
        double threshold = result.worst.threshold();
        for (int i = 0; i < count; i++) {
            double a = left[i];
            double b = right[i];
            double difference = Math.abs(a - b);
            if (difference > maxRel * Math.abs(a) && difference > maxRel * Math.abs(b)) {
                maxRel = difference / Math.max(Math.abs(a), Math.abs(b));
            }
            if (difference > maxAbs) {
                maxAbs = difference;
            }
            if (difference >= threshold && leftBits[i] != rightBits[i]) {
                result.worst.add(new WorstElement(index + place(i, count), a, b, difference));
                threshold = result.worst.threshold();
            }
        }
        result.maxAbs = maxAbs;
        result.maxRel = maxRel;
    }

    private int beyond(int count) {
        int beyond = 0;
        for (int i = 0; i < count; i++) {
            double a = left[i];
            double b = right[i];
            double larger = Math.max(Math.abs(a), Math.abs(b));
            boolean allowed = leftBits[i] == rightBits[i] || tolerance.allows(Math.abs(a - b), larger, steps[i]);
            beyond += allowed ? 0 : 1;
        }
        return beyond;
    }
}
