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
record Output(Numbers values, double[] error) {

    /** Numbers in the precision that they were computed in. */
    sealed interface Numbers {
        /** The number of a place. */
        double at(int index);

        /** How many there are. */
        int count();
    }

    /** Numbers of single precision. */
    record Single(float[] values) implements Numbers {
        @Override
        public double at(int index) {
            return values[index];
        }

        @Override
        public int count() {
            return values.length;
        }
    }

    /** Numbers of double precision. */
    record Precise(double[] values) implements Numbers {
        @Override
        public double at(int index) {
            return values[index];
        }

        @Override
        public int count() {
            return values.length;
        }
    }

    /**
     * Runs a layer.
     *
     * @param pass over the tokens of the input; closed afterwards
     */
    static Output of(Pass pass, Block block, float[] input, int width) throws IOException {
        try (pass) {
            pass.embed(reversed(input), width);
            return of(pass, block.branch(pass, pass.input(input, width)));
        }
    }

    /** What a pass has computed. */
    static Output of(Pass pass, Signal signal) {
        Numbers numbers = pass.isPrecise() ? new Precise(pass.readWide(signal)) : new Single(pass.read(signal));
        return new Output(numbers, signal.error());
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
