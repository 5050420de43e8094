package dev.shardsmith.verify.check;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * How the predictions of two models compare.
 *
 * @param tokens predictions compared
 * @param maxAbs the largest difference of a logit
 * @param size the largest logit
 * @param sameFirst tokens for which both rank the same entry first
 * @param sharedTop entries among the first {@value #TOP} of both, over all tokens, in relation to all of them
 * @param divergence mean Kullback-Leibler divergence of the second model's distribution from the first's, in nats
 */
public record LogitsComparison(
        int tokens, double maxAbs, double size, int sameFirst, double sharedTop, double divergence) {
    /** Entries that count as top. */
    public static final int TOP = 5;

    /** Whether both models predict the same: equal first entries and a divergence of at most 1e-6. */
    public boolean ok() {
        return sameFirst == tokens && divergence <= 1e-6 && Double.isFinite(maxAbs);
    }

    /**
     * Compares logits of [tokens, width]; columns beyond the narrower of both are padding and left out.
     */
    public static LogitsComparison of(float[] left, float[] right, int tokens) {
        int leftWidth = left.length / tokens;
        int rightWidth = right.length / tokens;
        int width = Math.min(leftWidth, rightWidth);
        double maxAbs = 0;
        double size = 0;
        int sameFirst = 0;
        int shared = 0;
        double divergence = 0;
        int top = Math.min(TOP, width);
        for (int t = 0; t < tokens; t++) {
            float[] a = Arrays.copyOfRange(left, t * leftWidth, t * leftWidth + width);
            float[] b = Arrays.copyOfRange(right, t * rightWidth, t * rightWidth + width);
            for (int c = 0; c < width; c++) {
                maxAbs = Math.max(maxAbs, Math.abs((double) a[c] - b[c]));
                size = Math.max(size, Math.abs((double) a[c]));
            }
            int[] firstA = first(a, top);
            int[] firstB = first(b, top);
            sameFirst += firstA[0] == firstB[0] ? 1 : 0;
            shared += (int) IntStream.of(firstA)
                    .filter(entry -> IntStream.of(firstB).anyMatch(other -> other == entry))
                    .count();
            divergence += divergence(a, b);
        }
        return new LogitsComparison(
                tokens, maxAbs, size, sameFirst, (double) shared / (tokens * top), divergence / tokens);
    }

    private static int[] first(float[] logits, int count) {
        return IntStream.range(0, logits.length)
                .boxed()
                .sorted((x, y) -> Float.compare(logits[y], logits[x]))
                .limit(count)
                .mapToInt(Integer::intValue)
                .toArray();
    }

    private static double divergence(float[] a, float[] b) {
        double normA = logSum(a);
        double normB = logSum(b);
        double sum = 0;
        for (int c = 0; c < a.length; c++) {
            double logA = a[c] - normA;
            sum += Math.exp(logA) * (logA - (b[c] - normB));
        }
        return Math.max(sum, 0);
    }

    private static double logSum(float[] logits) {
        double max = Double.NEGATIVE_INFINITY;
        for (float logit : logits) {
            max = Math.max(max, logit);
        }
        double sum = 0;
        for (float logit : logits) {
            sum += Math.exp(logit - max);
        }
        return max + Math.log(sum);
    }
}
