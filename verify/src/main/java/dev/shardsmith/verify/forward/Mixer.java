package dev.shardsmith.verify.forward;

import java.io.IOException;

/** The part of a layer between its norm and the residual stream. */
public sealed interface Mixer permits Mamba1Mixer, Mamba2Mixer, Mamba3Mixer, AttentionMixer, MlpMixer, ExpertsMixer {

    /** Channels of the residual stream. */
    int width();

    /** Runs the mixer on normalised activations of [tokens, width]. */
    Signal forward(Pass pass, Signal input) throws IOException;
}
