package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;

/**
 * Takes parts of a pickle out of its nodes as they come, so that one of gigabytes can be understood in little memory and time.
 *
 * <p>The references that are given, and all that they lead to, are good during the call only.
 */
public interface PickleNodeConsumer {
    /**
     * Keys and values by turns are about to be set in a dict; true if they were taken.
     *
     * @param nodes what the references refer to
     * @param references references to keys and values
     * @param from index of the first key
     * @param to index after the last value
     * @throws PickleDeclinedException to have the whole pickle read by {@link PickleReader}
     */
    boolean entries(PickleNodes nodes, long[] references, int from, int to)
            throws CheckpointException, PickleDeclinedException;

    /**
     * Values are about to be appended to a list; true if they were taken.
     *
     * @param nodes what the references refer to
     * @param references references to values
     * @param from index of the first value
     * @param to index after the last value
     * @throws PickleDeclinedException to have the whole pickle read by {@link PickleReader}
     */
    boolean values(PickleNodes nodes, long[] references, int from, int to)
            throws CheckpointException, PickleDeclinedException;
}
