package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.LimitSetting;
import dev.shardsmith.formats.pickle.PickleLimits;

/**
 * How much a file of PyTorch may ask for before it is refused.
 *
 * @param records most entries of a zip archive, and most storages of a stream
 * @param directoryBytes longest central directory
 * @param nestedStreams how deep streams may lie inside pickles inside streams
 * @param pickle limits of each pickle
 */
public record TorchLimits(long records, long directoryBytes, int nestedStreams, PickleLimits pickle) {
    /** Bytes read at a time while looking at local headers, so that small records cost no read each. */
    private static final int HEADER_WINDOW = 4096;

    /** The same where records are as small as that on the average. */
    private static final int LARGE_HEADER_WINDOW = 1 << 17;

    private static final int MAX_DIMENSIONS = 64;

    /** Streams inside streams are read by calls inside calls. */
    private static final long MOST_NESTED = 64;

    /** The limits that hold unless others are given, by the caller or by the user's {@link LimitSetting}. */
    public static TorchLimits defaults() {
        return new TorchLimits(
                LimitSetting.of("records", 1_000_000),
                LimitSetting.of("directory-bytes", 1 << 28),
                (int) Math.min(MOST_NESTED, LimitSetting.of("nested-streams", 4)),
                PickleLimits.defaults());
    }

    /** These limits with another number of entries. */
    public TorchLimits withRecords(long count) {
        return new TorchLimits(count, directoryBytes, nestedStreams, pickle);
    }

    /** These limits with another longest central directory. */
    public TorchLimits withDirectoryBytes(long bytes) {
        return new TorchLimits(records, bytes, nestedStreams, pickle);
    }

    /** These limits with another depth of streams inside streams. */
    public TorchLimits withNestedStreams(int depth) {
        return new TorchLimits(records, directoryBytes, depth, pickle);
    }

    /** These limits with others for each pickle. */
    public TorchLimits withPickle(PickleLimits limits) {
        return new TorchLimits(records, directoryBytes, nestedStreams, limits);
    }

    /** How much to read at a time of so many records in so many bytes while looking at their headers. */
    int headerWindow(long bytes, int count) {
        return bytes / Math.max(1, count) < HEADER_WINDOW ? LARGE_HEADER_WINDOW : HEADER_WINDOW;
    }

    int dimensions() {
        return MAX_DIMENSIONS;
    }
}
