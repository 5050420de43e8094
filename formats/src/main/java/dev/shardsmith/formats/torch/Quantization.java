package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.pickle.PyValue;

/** How the integers of a quantized tensor stand for numbers: real = (q - zero point) · scale. */
public sealed interface Quantization {
    /** PyTorch's name of the scheme: {@code per_tensor_affine}. */
    String scheme();

    /** One scale for the whole tensor. */
    record PerTensor(String scheme, double scale, long zeroPoint) implements Quantization {}

    /**
     * One scale for each index of a dimension.
     *
     * @param scheme PyTorch's name of the scheme
     * @param scales node of a tensor or list of floats
     * @param zeroPoints node of a tensor or list of integers
     * @param axis the dimension
     */
    record PerChannel(String scheme, PyValue scales, PyValue zeroPoints, int axis) implements Quantization {}
}
