package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.Optional;

/**
 * Checks of packed sequences.
 *
 * <p>Ids must not decrease: an id that comes back would be taken for the continuation of its first appearance by the
 * known kernels when both lie in one chunk, so results would depend on the chunk length.
 */
final class PackedSequences {
    private PackedSequences() {}

    static void checkIds(ScanShape shape, int[] ids) {
        if (ids.length != shape.tokens()) {
            throw new IllegalArgumentException("sequence ids: " + ids.length + " for " + shape.tokens() + " tokens");
        }
        for (int row = 0; row < shape.batch(); row++) {
            int previous = 0;
            for (int t = 0; t < shape.length(); t++) {
                int id = ids[row * shape.length() + t];
                if (id < previous) {
                    throw new IllegalArgumentException("sequence id " + id + " after " + previous + " at token " + t
                            + " of row " + row + ": ids must not be negative and must not decrease");
                }
                previous = id;
            }
        }
    }

    static void checkStarts(ScanShape shape, Optional<int[]> ids, int[] starts) {
        int[] expected = idsOf(shape, starts);
        int[] found = ids.orElseThrow(() -> new IllegalArgumentException("sequence starts without sequence ids"));
        for (int t = 1; t < expected.length; t++) {
            if ((expected[t] == expected[t - 1]) != (found[t] == found[t - 1])) {
                throw new IllegalArgumentException("sequence starts and ids disagree at token " + t);
            }
        }
    }

    /** The id of each token when sequences begin at the given tokens. */
    static int[] idsOf(ScanShape shape, int[] starts) {
        if (shape.batch() != 1) {
            throw new IllegalArgumentException("sequence starts need a batch of one row, not " + shape.batch());
        }
        if (starts.length < 2 || starts[0] != 0 || starts[starts.length - 1] != shape.length()) {
            throw new IllegalArgumentException("sequence starts must go from 0 to the length " + shape.length());
        }
        int[] ids = new int[shape.length()];
        for (int sequence = 0; sequence + 1 < starts.length; sequence++) {
            if (starts[sequence + 1] <= starts[sequence]) {
                throw new IllegalArgumentException("sequence " + sequence + " is empty or goes backwards");
            }
            Arrays.fill(ids, starts[sequence], starts[sequence + 1], sequence);
        }
        return ids;
    }
}
