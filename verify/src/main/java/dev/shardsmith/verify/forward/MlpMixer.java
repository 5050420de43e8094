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
    public record Shard(WeightSource fc1, Optional<WeightSource> fc1Bias, WeightSource fc2) {
        Shard mapped(WeightMap map) {
            return new Shard(map.of("fc1.weight", fc1), map.of("fc1.bias", fc1Bias), map.of("fc2.weight", fc2));
        }

        /** The same with another first projection. */
        public Shard withFc1(WeightSource value) {
            return new Shard(value, fc1Bias, fc2);
        }

        /** The same with another bias of the first projection. */
        public Shard withFc1Bias(Optional<WeightSource> value) {
            return new Shard(fc1, value, fc2);
        }

        /** The same with another second projection. */
        public Shard withFc2(WeightSource value) {
            return new Shard(fc1, fc1Bias, value);
        }
    }

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

    @Override
    public MlpMixer mapped(WeightMap map) {
        List<Shard> changed = shards.stream().map(shard -> shard.mapped(map)).toList();
        return new MlpMixer(width, form, activation, changed, map.of("fc2.bias", outBias));
    }

    /** The same with another form and activation. */
    public MlpMixer withForm(Form otherForm, Activation other) {
        return new MlpMixer(width, otherForm, other, shards, outBias);
    }

    /** The same with other shards. */
    public MlpMixer withShards(List<Shard> others) {
        return new MlpMixer(width, form, activation, others, outBias);
    }

    /** The same with another output bias. */
    public MlpMixer withOutBias(Optional<WeightSource> bias) {
        return new MlpMixer(width, form, activation, shards, bias);
    }
}
