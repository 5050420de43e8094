package dev.shardsmith.reshard.view;

import java.util.List;

/**
 * What the elements of a tensor do not tell: how integers stand for numbers, or the shape of a tensor that has no elements
 * to be read one by one.
 *
 * @param text in words
 * @param parts tensors that belong to it and are not listed by themselves, such as the scales of channels
 */
public record TensorForm(String text, List<LogicalTensor> parts) {}
