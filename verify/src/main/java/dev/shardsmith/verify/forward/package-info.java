/**
 * Runs the layers of a model as the training framework runs their shards.
 *
 * <p>{@link dev.shardsmith.verify.forward.ScanBackend} and {@link dev.shardsmith.verify.forward.ForwardBackend} are the
 * borders to an accelerator: everything else here is written once over them. The CPU implementations are always there.
 *
 * <p>Names of sizes, as everywhere in this package: {@code batch}, {@code length} (tokens of a sequence), {@code heads},
 * {@code headDim}, {@code groups} (of B and C), {@code state} (columns of a head's state). Arrays are row-major; an array
 * "[batch, length, heads]" has its last dimension adjacent in memory.
 */
package dev.shardsmith.verify.forward;
