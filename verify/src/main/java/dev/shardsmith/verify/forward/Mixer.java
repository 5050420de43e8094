package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The part of a layer between its norm and the residual stream. */
public sealed interface Mixer
        permits Mamba1Mixer,
                Mamba2Mixer,
                Mamba3Mixer,
                GatedDeltaMixer,
                AttentionMixer,
                MlpMixer,
                ExpertsMixer,
                SummedMixer,
                PredictionJoin,
                SharedAttention,
                SharedFeedForward {

    /** Channels of the residual stream. */
    int width();

    /** The same with other weights. */
    Mixer mapped(WeightMap map);

    /** All weights, of every rank. */
    default List<WeightSource> weights() {
        List<WeightSource> all = new ArrayList<>();
        mapped((role, weight) -> {
            all.add(weight);
            return weight;
        });
        return all;
    }

    /** Runs the mixer on normalised activations of [tokens, width]. */
    Signal forward(Pass pass, Signal input) throws IOException;
}
