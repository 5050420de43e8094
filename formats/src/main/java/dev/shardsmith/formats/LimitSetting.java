package dev.shardsmith.formats;

/** Limits that a user may set for all commands: {@code SHARDSMITH_JAVA_OPTS=-Dshardsmith.limit.NAME=N}. */
public final class LimitSetting {
    /** What to do where a limit is in the way of a file that is sound. */
    public static final String ADVICE = "if you trust the file, raise the limit: docs/troubleshooting.md#limits";

    private LimitSetting() {}

    /** The number set for a limit, or {@code otherwise} if none, or none above 0, is. */
    public static long of(String name, long otherwise) {
        long set = Long.getLong("shardsmith.limit." + name, otherwise);
        return set > 0 ? set : otherwise;
    }
}
