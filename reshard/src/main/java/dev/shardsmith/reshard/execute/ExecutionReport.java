package dev.shardsmith.reshard.execute;

import java.util.List;
import java.util.Map;

/**
 * What came of carrying out a plan.
 *
 * @param outcome whether the destination is there
 * @param bytesWritten bytes of tensor data that this process wrote
 * @param bytesRead bytes that it read from the sources
 * @param bytesResumed bytes of tensor data that an earlier run had written
 * @param overflows finite elements that became infinite (or NaN, in types without infinity) in a cast, by tensor
 * @param mismatches elements in which copies that must be equal differed, by tensor
 * @param damaged names of source data whose recorded checksum is another
 * @param seconds time that it took
 */
public record ExecutionReport(
        Outcome outcome,
        long bytesWritten,
        long bytesRead,
        long bytesResumed,
        Map<String, Long> overflows,
        Map<String, Long> mismatches,
        List<String> damaged,
        double seconds) {
    /** Whether the destination is there. */
    public enum Outcome {
        /** This process published it. */
        PUBLISHED,
        /** This process's part is done; one of the other tasks publishes, or has published. */
        PART_DONE,
        /** An earlier run had published it already. */
        ALREADY_PUBLISHED
    }
}
