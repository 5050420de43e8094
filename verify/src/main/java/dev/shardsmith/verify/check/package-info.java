/**
 * Compares what two checkpoints compute, layer by layer, and says what explains a difference.
 *
 * <p>Both sides run the same seeded input as their own framework would run their own shards. Results may differ by what
 * rounding explains ({@link dev.shardsmith.verify.forward.Pass}) and no more.
 */
package dev.shardsmith.verify.check;
