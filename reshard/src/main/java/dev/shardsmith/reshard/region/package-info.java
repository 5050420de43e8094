/** Boxes of tensors and the strided pieces of files that hold them: the algebra that every conversion is made of. */
package dev.shardsmith.reshard.region;
