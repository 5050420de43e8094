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
            Signal branch = block.branch(pass, pass.input(input, width));
            return new Output(pass.read(branch), branch.error());
        }
    }
}
