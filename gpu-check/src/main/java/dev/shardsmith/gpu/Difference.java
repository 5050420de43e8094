package dev.shardsmith.gpu;

/**
 * How two arrays of float32 differ.
 *
 * @param maxAbsolute the largest absolute difference; NaN if exactly one of two elements was NaN somewhere
 * @param maxRelative the largest of |a - b| / max(|a|, |b|)
 * @param maxUlp the largest number of float32 steps between two elements, as an unsigned 32-bit number
 * @param beyond elements that differ by more than their bound
 * @param worst index of the largest absolute difference, the first of equals; -1 if there is no element
 */
public record Difference(double maxAbsolute, double maxRelative, long maxUlp, long beyond, long worst) {

    /** Ints of one block's record on the card. */
    static final int WORDS = 8;

    /** The worst of what all blocks saw, from their records as raw bits. */
    static Difference of(float[] records, long length) {
        double absolute = 0;
        double relative = 0;
        long ulp = 0;
        long beyond = 0;
        long worst = Long.MAX_VALUE;
        for (int at = 0; at < records.length; at += WORDS) {
            double own = records[at];
            long index = wide(records, at + 6);
            if (worse(own, index, absolute, worst)) {
                absolute = own;
                worst = index;
            }
            relative = Double.isNaN(relative) ? relative : maxOrNan(records[at + 1], relative);
            ulp = Math.max(ulp, Integer.toUnsignedLong(Float.floatToRawIntBits(records[at + 2])));
            beyond += wide(records, at + 4);
        }
        return new Difference(absolute, relative, ulp, beyond, length == 0 ? -1 : worst);
    }

    private static boolean worse(double a, long at, double b, long bt) {
        if (Double.isNaN(a) != Double.isNaN(b)) {
            return Double.isNaN(a);
        }
        return !Double.isNaN(a) && a != b ? a > b : at < bt;
    }

    private static double maxOrNan(double a, double b) {
        return Double.isNaN(a) || a > b ? a : b;
    }

    private static long wide(float[] records, int at) {
        return Integer.toUnsignedLong(Float.floatToRawIntBits(records[at]))
                | (long) Float.floatToRawIntBits(records[at + 1]) << Integer.SIZE;
    }
}
