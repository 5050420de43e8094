/**
 * Readers and writers of layouts: from the files of a checkpoint to a model view, and from logical tensors to the files of a
 * target.
 *
 * <p>Always in that direction: source, model view, plan, target. There are no converters between pairs of layouts.
 */
package dev.shardsmith.reshard.layout;
