package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.LimitSetting;

/**
 * How much a pickle may ask for before it is refused.
 *
 * @param pickleBytes longest stream
 * @param memoEntries most entries of the memo
 * @param graphBytes most memory that nodes, strings, stack and memo may take, as estimated while reading
 * @param stringBytes longest string or byte string
 * @param lineBytes longest line of a text opcode
 * @param intBytes longest integer
 */
public record PickleLimits(
        long pickleBytes, long memoEntries, long graphBytes, long stringBytes, int lineBytes, int intBytes) {
    private static final long GIB = 1L << 30;

    /** Three quarters of the heap: more would end in an out-of-memory error instead of a message. */
    private static final double SHARE_OF_HEAP = 0.75;

    /** The limits that hold unless others are given, by the caller or by the user's {@link LimitSetting}. */
    public static PickleLimits defaults() {
        long heap = (long) (Runtime.getRuntime().maxMemory() * SHARE_OF_HEAP);
        return new PickleLimits(
                LimitSetting.of("pickle-bytes", 2 * GIB),
                LimitSetting.of("memo-entries", 100_000_000),
                LimitSetting.of("graph-bytes", heap),
                LimitSetting.of("string-bytes", GIB),
                1 << 16,
                1 << 10);
    }

    /** These limits with another longest stream. */
    public PickleLimits withPickleBytes(long bytes) {
        return new PickleLimits(bytes, memoEntries, graphBytes, stringBytes, lineBytes, intBytes);
    }

    /** These limits with another size of the memo. */
    public PickleLimits withMemoEntries(long entries) {
        return new PickleLimits(pickleBytes, entries, graphBytes, stringBytes, lineBytes, intBytes);
    }

    /** These limits with another size of the graph. */
    public PickleLimits withGraphBytes(long bytes) {
        return new PickleLimits(pickleBytes, memoEntries, bytes, stringBytes, lineBytes, intBytes);
    }

    /** These limits with another longest string. */
    public PickleLimits withStringBytes(long bytes) {
        return new PickleLimits(pickleBytes, memoEntries, graphBytes, bytes, lineBytes, intBytes);
    }

    /** These limits with another longest integer. */
    public PickleLimits withIntBytes(int bytes) {
        return new PickleLimits(pickleBytes, memoEntries, graphBytes, stringBytes, lineBytes, bytes);
    }
}
