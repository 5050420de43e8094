package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.LimitSetting;

/** Where the reading of a pickle stands and what its graph weighs; says what is wrong at the current operation. */
final class PickleMeter {
    /** Rough sizes of nodes on the heap, in bytes; only for the limit. */
    static final int NODE = 32;

    static final int SLOT = 8;

    private final String source;
    private final PickleLimits limits;

    /** The most of graphBytes, at hand because every node asks. */
    private final long mostBytes;

    private long opOffset;
    private long graphBytes;
    /** The share of graphBytes that the memo holds on to. */
    private long memoBytes;

    PickleMeter(String source, PickleLimits limits) {
        this.source = source;
        this.limits = limits;
        this.mostBytes = limits.graphBytes();
    }

    String source() {
        return source;
    }

    PickleLimits limits() {
        return limits;
    }

    /** Position of the current operation. */
    long opOffset() {
        return opOffset;
    }

    void beginOperation(long offset) {
        opOffset = offset;
    }

    void grow(long bytes) throws CheckpointException {
        graphBytes += bytes;
        if (graphBytes > mostBytes) {
            throw tooHeavy();
        }
    }

    private CheckpointException tooHeavy() {
        return limit("the pickle's content needs more than the limit of " + mostBytes + " bytes of memory")
                .withHint("give Java more memory (-Xmx)");
    }

    /** Counts a node. */
    <T extends PyValue> T node(T value) throws CheckpointException {
        grow(NODE);
        return value;
    }

    /** Remembers that this much of the graph stays whatever is forgotten, as the memo holds it. */
    void keepInMemo(long bytes) {
        memoBytes += bytes;
    }

    /** The weight of all that the memo does not hold. */
    long outsideMemo() {
        return graphBytes - memoBytes;
    }

    /** Goes back to an earlier {@link #outsideMemo}, as what came since is forgotten. */
    void forgetSince(long outsideMemo) {
        graphBytes = outsideMemo + memoBytes;
    }

    CheckpointException malformed(String problem) {
        return CheckpointException.malformed(source, opOffset, "the pickle is malformed: " + problem);
    }

    CheckpointException unsupported(String problem) {
        return CheckpointException.of(CheckpointException.Kind.UNSUPPORTED, source + " at byte " + opOffset, problem);
    }

    CheckpointException limit(String problem) {
        return CheckpointException.of(CheckpointException.Kind.LIMIT, source + " at byte " + opOffset, problem)
                .withHint(LimitSetting.ADVICE);
    }
}
