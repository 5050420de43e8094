package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.Pass;
import dev.shardsmith.verify.forward.Signal;
import java.io.IOException;

/**
 * What a layer made of an input.
 *
 * @param values [tokens, width]
 * @param error estimated rounding error of each token
 */
record Output(float[] values, double[] error) {

    /**
     * Runs a layer.
     *
     * @param pass over the tokens of the input; closed afterwards
     */
    static Output of(Pass pass, Block block, float[] input, int width) throws IOException {
        try (pass) {
            pass.embed(reversed(input), width);
            Signal branch = block.branch(pass, pass.input(input, width));
            return new Output(pass.read(branch), branch.error());
        }
    }

    /** Stands for the embedded tokens: as good as any other numbers, and not those of the residual stream. */
    private static float[] reversed(float[] input) {
        float[] reversed = new float[input.length];
        for (int i = 0; i < input.length; i++) {
            reversed[i] = input[input.length - 1 - i];
        }
        return reversed;
    }
}
