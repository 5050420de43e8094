/**
 * How a parameter is divided among the ranks of a group, as data.
 *
 * <p>A {@link dev.shardsmith.reshard.rule.Division} says which box of the undivided tensor each rank holds, and where in its own
 * shard. The same object serves merging, splitting and checking, and knows nothing of files or names.
 */
package dev.shardsmith.reshard.rule;
