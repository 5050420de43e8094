package dev.shardsmith.verify.forward;

/**
 * Activations between two operations, and how far rounding may have moved them.
 *
 * @param values [tokens, width]
 * @param width channels of a token
 * @param error for each token an estimate of the standard deviation of the rounding error of any of its channels; infinite
 *     where a discrete choice (the experts of a token) could fall either way
 */
public record Signal(DeviceArray values, int width, double[] error) {}
