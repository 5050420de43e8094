package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * How the experts of a token are chosen.
 *
 * @param scores what is made of the router's logits
 * @param top experts of a token
 * @param normalized whether the chosen weights are divided by their sum
 * @param scale factor of the weights
 * @param groups of experts of which only some are considered
 */
public record ExpertRouting(Scores scores, int top, boolean normalized, float scale, Groups groups) {
    private static final double NORMALIZER_FLOOR = 1e-20;
    /** Standard deviations of a score that could change a choice. */
    private static final double AMBIGUITY = 32;

    /**
     * Equal groups of experts, the best of which a token may choose from.
     *
     * @param count groups of all experts
     * @param top groups that are considered, those with the largest sums
     * @param members how many of its best scores are the sum of a group
     */
    public record Groups(int count, int top, int members) {
        /** Checks that some are considered. */
        public Groups {
            if (count < 1 || top < 1 || members < 1) {
                throw new IllegalArgumentException(
                        "%d of %d groups of experts by their best %d".formatted(top, count, members));
            }
        }

        /** All experts are considered. */
        public static final Groups ALL = new Groups(1, 1, 1);
    }

    /** Checks that a token has an expert. */
    public ExpertRouting {
        if (top < 1) {
            throw new IllegalArgumentException(top + " experts of a token");
        }
    }

    /** What is made of logits. */
    public enum Scores {
        /** The logistic function of each. */
        SIGMOID,
        /** Softmax over all experts, then the choice. */
        SOFTMAX_ALL,
        /** The choice, then softmax over the chosen. */
        SOFTMAX_CHOSEN,
        /** The logistic function of each; experts are dealt out, whatever their scores, and what else decides the choice is their weight. */
        DEALT
    }

    /** The same experts and scores of another kind, with every expert in use. */
    ExpertRouting dealt() {
        return new ExpertRouting(Scores.DEALT, top, false, scale, Groups.ALL);
    }

    /**
     * What was chosen for each token.
     *
     * @param weights [tokens, experts], 0 where not chosen
     * @param experts number of experts
     * @param ambiguous tokens for which rounding could have changed the choice
     * @param weightError estimated error of the weights of each token
     */
    record Choice(double[] weights, int experts, boolean[] ambiguous, double[] weightError) {

        double weight(int token, int expert) {
            return weights[token * experts + expert];
        }

        int[] tokensOf(int expert) {
            return IntStream.range(0, weightError.length)
                    .filter(token -> weight(token, expert) != 0)
                    .toArray();
        }
    }

    Choice choose(double[] logits, float[] choiceBias, int experts, double[] errors) {
        int tokens = errors.length;
        double[] weights = new double[logits.length];
        boolean[] ambiguous = new boolean[tokens];
        double[] weightError = new double[tokens];
        for (int t = 0; t < tokens; t++) {
            double[] row = Arrays.copyOfRange(logits, t * experts, (t + 1) * experts);
            double[] scored = score(row);
            weightError[t] = 2 * scale * errors[t];
            double[] choice = new double[experts];
            for (int e = 0; e < experts; e++) {
                choice[e] = scored[e] + choiceBias[e];
            }
            if (scores == Scores.DEALT) {
                deal(choice, t, Math.max(1, tokens / 2), weights);
                continue;
            }
            double gap = dropWeakGroups(choice);
            int[] order = descending(choice);
            double margin = AMBIGUITY * errors[t];
            ambiguous[t] = top < experts && choice[order[top - 1]] - choice[order[top]] < margin
                    || gap < margin * groups.members();
            weigh(row, scored, order, weights, t * experts);
        }
        return new Choice(weights, experts, ambiguous, weightError);
    }

    /** Every expert gets the same tokens, or more, of the first and of the second half of all: what it does for opposite ones is seen. */
    private void deal(double[] choice, int token, int half, double[] weights) {
        int hands = Math.min(half, choice.length);
        for (int e = token % half % hands; e < choice.length; e += hands) {
            weights[token * choice.length + e] = scale * choice[e];
        }
    }

    private double[] score(double[] logits) {
        double[] scored = new double[logits.length];
        double max = Double.NEGATIVE_INFINITY;
        for (double logit : logits) {
            max = Math.max(max, logit);
        }
        double total = 0;
        for (int e = 0; e < logits.length; e++) {
            scored[e] = switch (scores) {
                case SIGMOID, DEALT -> 1 / (1 + Math.exp(-logits[e]));
                case SOFTMAX_ALL -> Math.exp(logits[e] - max);
                case SOFTMAX_CHOSEN -> logits[e];
            };
            total += scored[e];
        }
        if (scores == Scores.SOFTMAX_ALL) {
            for (int e = 0; e < scored.length; e++) {
                scored[e] /= total;
            }
        }
        return scored;
    }

    /** Returns how much better the last group that is considered is than the first that is not. */
    private double dropWeakGroups(double[] choice) {
        if (groups.top() >= groups.count()) {
            return Double.POSITIVE_INFINITY;
        }
        int size = choice.length / groups.count();
        double[] sums = new double[groups.count()];
        for (int g = 0; g < sums.length; g++) {
            double[] scored = Arrays.copyOfRange(choice, g * size, (g + 1) * size);
            Arrays.sort(scored);
            for (int best = 1; best <= Math.min(size, groups.members()); best++) {
                sums[g] += scored[size - best];
            }
        }
        int[] order = descending(sums);
        for (int rank = groups.top(); rank < sums.length; rank++) {
            Arrays.fill(choice, order[rank] * size, (order[rank] + 1) * size, Double.NEGATIVE_INFINITY);
        }
        return sums[order[groups.top() - 1]] - sums[order[groups.top()]];
    }

    private void weigh(double[] logits, double[] scored, int[] order, double[] weights, int base) {
        double[] chosen = new double[top];
        double total = 0;
        for (int i = 0; i < top; i++) {
            chosen[i] =
                    scores == Scores.SOFTMAX_CHOSEN ? Math.exp(logits[order[i]] - logits[order[0]]) : scored[order[i]];
            total += chosen[i];
        }
        boolean divide = normalized || scores == Scores.SOFTMAX_CHOSEN;
        for (int i = 0; i < top; i++) {
            double weight = divide ? chosen[i] / (total + NORMALIZER_FLOOR) : chosen[i];
            weights[base + order[i]] = weight * scale;
        }
    }

    /** Indices from the largest to the smallest value; equal values keep their order. */
    private static int[] descending(double[] values) {
        return IntStream.range(0, values.length)
                .boxed()
                .sorted((a, b) -> Double.compare(values[b], values[a]))
                .mapToInt(Integer::intValue)
                .toArray();
    }
}
