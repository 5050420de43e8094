package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Block;

/**
 * A mistake that may have been made, and both layers as they would be without it, or with it on both sides.
 *
 * @param text what was done, as a sentence about the second checkpoint
 * @param left the first checkpoint's layer
 * @param right the second checkpoint's layer
 */
record Hypothesis(String text, Block left, Block right) {}
