package dev.shardsmith.reshard.plan;

/**
 * Something of the source that the target does not get.
 *
 * @param what its name
 * @param elements tensor elements that go with it, 0 for other state
 * @param bytes its size
 * @param reason why
 */
public record Dropped(String what, long elements, long bytes, String reason) {}
