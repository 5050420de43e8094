/**
 * What each GPU of a training job would hold of a model: parameters and bytes, with the arithmetic shown.
 *
 * <p>Counted are weights, gradients, the float32 master copy and Adam's two moments. Activations, buffers of communication and
 * fragmentation are not: they depend on batch and sequence, not on the checkpoint.
 */
package dev.shardsmith.reshard.placement;
