/**
 * Compares checkpoints: tensors bit by bit first, then by their values, and the rest of the state as trees.
 *
 * <p>What is compared is the logical content, so the two sides may lie in different layouts and parallel sizes.
 */
package dev.shardsmith.verify.diff;
