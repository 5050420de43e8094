package dev.shardsmith.reshard.rule;

import dev.shardsmith.reshard.region.Box;

/**
 * One box of the undivided tensor and where a rank's shard keeps it.
 *
 * @param component name of the part, empty for a tensor without parts
 * @param logical the box of the undivided tensor
 * @param local offset of the same box in the shard, in elements per dimension
 */
public record Placement(String component, Box logical, long[] local) {}
