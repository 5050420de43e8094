package dev.shardsmith.verify.forward;

import java.util.Optional;

/**
 * What a scan computes.
 *
 * @param y [batch, length, heads, headDim]
 * @param finalState [batch, heads, headDim, state]: the states after the last token
 * @param sequenceStates [sequences, heads, headDim, state]: the states after the last token of each packed sequence, if
 *     {@link ScanProblem#sequenceStarts()} asked for them
 */
public record ScanResult(float[] y, float[] finalState, Optional<float[]> sequenceStates) {}
