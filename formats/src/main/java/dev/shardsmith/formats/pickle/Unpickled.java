package dev.shardsmith.formats.pickle;

/**
 * What one pickle holds.
 *
 * @param value the object
 * @param end position after the STOP, where the next pickle of a stream begins
 * @param protocol the number that the stream announces; 0 if it announces none
 */
public record Unpickled(PyValue value, long end, int protocol) {}
