package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.List;

/**
 * Which hybrid layers make up each layer of a Transformer: the i-th {@code *} and the i-th {@code -} or {@code E}.
 *
 * @param attention hybrid layer of each Transformer layer's attention
 * @param feedForward hybrid layer of each Transformer layer's MLP or experts
 * @param stateSpace hybrid layers without a counterpart
 */
public record GptPairing(List<Integer> attention, List<Integer> feedForward, List<Integer> stateSpace) {

    /**
     * Pairs the main layers of a pattern.
     *
     * @throws CheckpointException of kind {@code REFUSED} if a layer has no counterpart or the numbers differ
     */
    public static GptPairing of(HybridPattern pattern) throws CheckpointException {
        List<Integer> attention = new ArrayList<>();
        List<Integer> feedForward = new ArrayList<>();
        List<Integer> stateSpace = new ArrayList<>();
        boolean dense = false;
        boolean experts = false;
        for (int layer = 0; layer < pattern.layerCount(); layer++) {
            LayerKind kind = pattern.layers().get(layer);
            dense |= kind == LayerKind.MLP;
            experts |= kind == LayerKind.EXPERTS;
            switch (kind) {
                case ATTENTION -> attention.add(layer);
                case MLP, EXPERTS -> feedForward.add(layer);
                case MAMBA -> stateSpace.add(layer);
                case GATED_DELTA, SPARSE_ATTENTION, LATENT_ATTENTION ->
                    throw refused(
                            pattern,
                            "layer %d is a %s layer, which a Transformer checkpoint cannot hold"
                                    .formatted(layer, kind.title()));
            }
        }
        if (dense && experts) {
            throw refused(pattern, "the pattern has both - and E layers; a Transformer has one kind");
        }
        if (attention.size() != feedForward.size()) {
            throw refused(
                    pattern,
                    "a Transformer layer needs one * and one - or E, but there are %d and %d"
                            .formatted(attention.size(), feedForward.size()));
        }
        return new GptPairing(List.copyOf(attention), List.copyOf(feedForward), List.copyOf(stateSpace));
    }

    private static CheckpointException refused(HybridPattern pattern, String problem) {
        return CheckpointException.of(
                CheckpointException.Kind.REFUSED,
                "hybrid layer pattern " + PatternProblem.shown(pattern.text()),
                problem);
    }
}
