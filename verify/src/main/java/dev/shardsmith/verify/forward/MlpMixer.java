package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A feed-forward layer, rank by rank.
 *
 * @param width channels of the residual stream, or of the latent space of experts
 * @param form plain or gated, and which half of a gated projection is the gate
 * @param activation of the hidden channels, or of the gate
 * @param shards one per rank; ranks without channels are left out
 * @param outBias added once, after the sum over ranks
 */
public record MlpMixer(int width, Form form, Activation activation, List<Shard> shards, Optional<WeightSource> outBias)
        implements Mixer {

    /** What the rows of the first projection are. */
    public enum Form {
        /** Hidden channels. */
        PLAIN,
        /** The gate, then the value it is multiplied with: Megatron and most others. */
        GATE_FIRST,
        /** The value, then its gate: the reference implementation of Mamba. */
        VALUE_FIRST
    }

    /**
     * The weights of one rank.
     *
     * @param fc1 [hidden, width], or [2·hidden, width] when gated
     * @param fc1Bias one per row of {@code fc1}
     * @param fc2 [width, hidden]
     */
    public record Shard(WeightSource fc1, Optional<WeightSource> fc1Bias, WeightSource fc2) {}

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        List<Signal> parts = new ArrayList<>();
        for (Shard shard : shards) {
            Signal projected = pass.linear(input, shard.fc1(), shard.fc1Bias());
            parts.add(pass.linear(hidden(pass, projected), shard.fc2(), Optional.empty()));
        }
        return pass.sum(parts, outBias);
    }

    private Signal hidden(Pass pass, Signal projected) {
        int half = projected.width() / 2;
        return switch (form) {
            case PLAIN -> pass.activate(projected, activation);
            case GATE_FIRST ->
                pass.gate(pass.columns(projected, 0, half), pass.columns(projected, half, half), activation);
            case VALUE_FIRST ->
                pass.gate(pass.columns(projected, half, half), pass.columns(projected, 0, half), activation);
        };
    }
}
