package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.util.List;

/**
 * Takes parts of a pickle out of the graph as they come, so that one of gigabytes can be understood in little memory.
 *
 * <p>What was taken is not in the graph that the reader gives in the end.
 */
public interface PickleConsumer {
    /** Entries are about to be set in a dict; true if they were taken. The list is good during the call only. */
    boolean entries(List<PyEntry> entries) throws CheckpointException;

    /** Values are about to be appended to a list; true if they were taken. The list is good during the call only. */
    boolean values(List<PyValue> values) throws CheckpointException;
}
