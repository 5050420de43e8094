package dev.shardsmith.verify.forward;

/**
 * {@code y += Σ_k a[k] · b[k]}: the loop that every matrix product here is made of.
 *
 * <p>The rows of {@code b} are arrays of their own and not slices of one: HotSpot's vectoriser then proves that they do
 * not overlap {@code y}. Six rows a pass is what its unrolling limit allows; {@code y} is then loaded and stored once
 * for six multiply-adds.
 */
final class RankUpdate {
    private static final int ROWS = 6;

    private RankUpdate() {}

    /**
     * Adds rows [first, first + count) of {@code b}, scaled by {@code a[aBase + k]}, to elements [from, to) of {@code y}.
     */
    static void add(float[] y, float[][] b, int first, int count, float[] a, int aBase, int from, int to) {
        int k = 0;
        for (; k + ROWS <= count; k += ROWS) {
            int row = first + k;
            int s = aBase + k;
            six(
                    y,
                    b[row],
                    b[row + 1],
                    b[row + 2],
                    b[row + 3],
                    b[row + 4],
                    b[row + 5],
                    a[s],
                    a[s + 1],
                    a[s + 2],
                    a[s + 3],
                    a[s + 4],
                    a[s + 5],
                    from,
                    to);
        }
        for (; k < count; k++) {
            one(y, b[first + k], a[aBase + k], from, to);
        }
    }

    private static void six(
            float[] y,
            float[] b0,
            float[] b1,
            float[] b2,
            float[] b3,
            float[] b4,
            float[] b5,
            float a0,
            float a1,
            float a2,
            float a3,
            float a4,
            float a5,
            int from,
            int to) {
        for (int j = from; j < to; j++) {
            y[j] = Math.fma(
                    a5,
                    b5[j],
                    Math.fma(
                            a4,
                            b4[j],
                            Math.fma(a3, b3[j], Math.fma(a2, b2[j], Math.fma(a1, b1[j], Math.fma(a0, b0[j], y[j]))))));
        }
    }

    private static void one(float[] y, float[] b, float a, int from, int to) {
        for (int j = from; j < to; j++) {
            y[j] = Math.fma(a, b[j], y[j]);
        }
    }
}
