package dev.shardsmith.verify.check;

import java.util.Optional;
import java.util.function.IntPredicate;

/**
 * What a comparison runs on.
 *
 * @param batch sequences
 * @param length tokens of each
 * @param seed of the random input
 * @param layers which layers, by their number in the model
 * @param input activations of [batch, length, width] to use for every layer instead of random ones
 */
public record CheckOptions(int batch, int length, long seed, IntPredicate layers, Optional<float[]> input) {
    /** Tokens of a sequence if nothing else is asked for. */
    public static final int DEFAULT_LENGTH = 128;

    /** One sequence of {@value #DEFAULT_LENGTH} tokens, all layers, seed 0. */
    public static final CheckOptions DEFAULT = new CheckOptions(1, DEFAULT_LENGTH, 0, layer -> true, Optional.empty());

    /** Checks the sizes. */
    public CheckOptions {
        if (batch < 1 || length < 1) {
            throw new IllegalArgumentException(batch + " sequences of " + length + " tokens");
        }
    }
}
