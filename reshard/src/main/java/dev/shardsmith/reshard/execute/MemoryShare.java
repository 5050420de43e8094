package dev.shardsmith.reshard.execute;

/** Divides the memory that a run may take among its workers' buffers. */
final class MemoryShare {
    /** Larger bands bring nothing and fall out of the processor's caches. */
    private static final int LARGEST = 1 << 20;

    private static final int SMALLEST = 64 << 10;

    private MemoryShare() {}

    /** The size of a band's buffer in bytes, a power of two. */
    static int bandBytes(ExecutionOptions options) {
        long share = options.memory() / ((long) options.workers() * Buffers.MOST);
        return (int) Long.highestOneBit(Math.max(SMALLEST, Math.min(LARGEST, share)));
    }
}
