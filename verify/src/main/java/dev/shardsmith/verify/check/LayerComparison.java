package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.Pass;
import dev.shardsmith.verify.forward.WeightReader;
import dev.shardsmith.verify.forward.WideBackend;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;

/**
 * The comparison of one layer of two models.
 *
 * <p>First a close look: {@value #CLOSE_TOKENS} tokens in double precision, whose rounding errors are a billion times smaller
 * than those of single precision, so that what they explain is smaller than any damage. Every expert takes part, with a token and its opposite. Then all tokens on the device, for what
 * shows only along a sequence.
 *
 * @param device what all tokens are run on
 * @param precise what the close look is taken with
 * @param width channels of the residual stream
 */
record LayerComparison(ForwardBackend device, WideBackend precise, int width) {
    /** Tokens of the close look: more than a convolution reaches, and few beside what a layer is else run on. */
    static final int CLOSE_TOKENS = 16;

    private static final int HYPOTHESIS_TOKENS = 48;

    /** What a comparison found, and whether the close look has found it. */
    record Finding(Deviation deviation, boolean close) {}

    /**
     * The first tokens of an input and then the same with the opposite sign, as many as the close look takes: of two opposite
     * inputs, one is on the side of zero where an activation is not silent.
     */
    static float[] closeInput(float[] input, int width) {
        int half = Math.min(input.length, CLOSE_TOKENS / 2 * width);
        float[] both = Arrays.copyOf(input, 2 * half);
        for (int i = 0; i < half; i++) {
            both[half + i] = -input[i];
        }
        return both;
    }

    /**
     * Compares.
     *
     * @param input [batch, length, width]
     */
    Finding run(Block a, Block b, float[] input, int batch, WeightReader weights) throws IOException {
        float[] some = closeInput(Arrays.copyOf(input, input.length / batch), width);
        Deviation close = close(a, b, some, weights);
        if (!close.ok()) {
            return new Finding(close, true);
        }
        Deviation all = all(a, b, input, batch, weights);
        return new Finding(all.seenAs(close), false);
    }

    private Deviation close(Block a, Block b, float[] some, WeightReader weights) throws IOException {
        WeightReader reading = precise.reading(weights);
        Deviation own = compare(precise, a, b, some, 1, reading);
        Optional<Block> dealtA = dealt(a);
        Optional<Block> dealtB = dealt(b);
        return own.ok() && dealtA.isPresent() && dealtB.isPresent()
                ? own.or(compare(precise, dealtA.get(), dealtB.get(), some, 1, reading))
                : own;
    }

    private Deviation all(Block a, Block b, float[] input, int batch, WeightReader weights) throws IOException {
        return compare(device, a, b, input, batch, weights);
    }

    private Deviation compare(ForwardBackend backend, Block a, Block b, float[] input, int batch, WeightReader weights)
            throws IOException {
        int length = input.length / width / batch;
        return Deviation.of(
                Output.of(new Pass(backend, batch, length, weights), a, input, width),
                Output.of(new Pass(backend, batch, length, weights), b, input, width),
                width,
                width);
    }

    /** The block with every expert in use, if it has any. */
    private static Optional<Block> dealt(Block block) {
        Block changed = block;
        for (int i = 0; i < block.mixers().size(); i++) {
            Mixer mixer = block.mixers().get(i);
            if (mixer instanceof ExpertsMixer experts) {
                changed = changed.withMixer(i, experts.dealt());
            }
        }
        return changed == block ? Optional.empty() : Optional.of(changed);
    }

    /** Tries one hypothesis after the other, on what showed the difference. */
    String explain(Block a, Block b, float[] input, int batch, Finding finding, WeightReader weights)
            throws IOException {
        float[] some = closeInput(Arrays.copyOf(input, input.length / batch), width);
        if (!finding.close()) {
            some = Arrays.copyOf(input, Math.min(input.length / batch, HYPOTHESIS_TOKENS * width));
            if (all(a, b, some, 1, weights).ok()) {
                some = Arrays.copyOf(input, input.length / batch);
            }
        }
        for (Hypothesis hypothesis : Hypotheses.of(a, b)) {
            try {
                Deviation left = finding.close()
                        ? close(hypothesis.left(), hypothesis.right(), some, weights)
                        : all(hypothesis.left(), hypothesis.right(), some, 1, weights);
                if (left.ok()) {
                    return hypothesis.text();
                }
            } catch (IllegalArgumentException e) {
                // Its shapes do not fit this layer: it explains nothing.
            }
        }
        return "no known mistake explains it";
    }
}
