package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.List;

/** The part of a layer between its norm and the residual stream. */
public sealed interface Mixer
        permits Mamba1Mixer,
                Mamba2Mixer,
                Mamba3Mixer,
                AttentionMixer,
                MlpMixer,
                ExpertsMixer,
                SummedMixer,
                PredictionJoin,
                SharedAttention,
                SharedFeedForward {

    /** Channels of the residual stream. */
    int width();

    /** All weights, of every rank. */
    List<WeightSource> weights();

    /** Runs the mixer on normalised activations of [tokens, width]. */
    Signal forward(Pass pass, Signal input) throws IOException;
}
