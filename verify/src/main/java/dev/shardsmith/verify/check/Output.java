package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ForwardBackend;
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

    static Output of(ForwardBackend backend, Block block, float[] input, int width, int batch, double weightUnit)
            throws IOException {
        int tokens = input.length / width;
        try (Pass pass = new Pass(backend, batch, tokens / batch, weightUnit)) {
            Signal branch = block.branch(pass, pass.input(input, width));
            return new Output(pass.read(branch), branch.error());
        }
    }
}
