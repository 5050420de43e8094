package dev.shardsmith.verify.diff;

/**
 * One place where the state of two checkpoints differs.
 *
 * @param path from the root, keys joined by dots, items of lists in brackets
 * @param left what stands there on the left, shortened; empty if nothing
 * @param right what stands there on the right, shortened; empty if nothing
 */
public record StateDifference(String path, String left, String right) {}
