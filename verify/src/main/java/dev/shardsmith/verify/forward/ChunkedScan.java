package dev.shardsmith.verify.forward;

import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The state-space scan in chunks, in float: within a chunk as products of matrices, from chunk to chunk as a recurrence.
 *
 * <p>With {@code s} the running sum of dt·A in a chunk and {@code H} the state that enters it,
 *
 * <pre>
 *   y_i = exp(s_i) · H · C_i + Σ_{j≤i} (C_i · B_j) · exp(s_i - s_j) · dt_j · x_j + D · x_i
 *   H'  = exp(s_last) · H + Σ_j exp(s_last - s_j) · dt_j · outer(x_j, B_j)
 * </pre>
 *
 * Sums of logarithms and the steps are double, products and states float. Any length works; the last chunk is short.
 */
final class ChunkedScan {
    /** Tokens of a chunk. */
    static final int CHUNK = 256;

    private static final int PARALLEL_ABOVE = 1 << 16;

    private ChunkedScan() {}

    /** Runs a scan with chunks of {@link #CHUNK} tokens. */
    static ScanResult run(ScanProblem problem) {
        return run(problem, CHUNK);
    }

    /** Runs a scan; all chunk lengths give the same result up to rounding. */
    static ScanResult run(ScanProblem problem, int chunk) {
        ScanShape shape = problem.shape();
        float[] y = new float[problem.x().length];
        float[] states = problem.initialState()
                .map(float[]::clone)
                .orElseGet(() -> new float[Math.multiplyExact(shape.batch(), shape.stateSize())]);
        Optional<float[]> sequences = problem.sequenceStarts()
                .map(starts -> new float[Math.multiplyExact(starts.length - 1, shape.stateSize())]);
        boolean parallel = (long) shape.tokens() * shape.inner() * shape.state() > PARALLEL_ABOVE;
        ChunkGroup[] groups = new ChunkGroup[shape.batch() * shape.groups()];
        for (int from = 0; from < shape.length(); from += chunk) {
            int start = from;
            int count = Math.min(chunk, shape.length() - from);
            over(groups.length, parallel)
                    .forEach(i -> groups[i] =
                            ChunkGroup.of(problem, i / shape.groups(), i % shape.groups(), start, count, groups[i]));
            over(shape.batch() * shape.heads(), parallel).forEach(i -> {
                int row = i / shape.heads();
                int head = i % shape.heads();
                ChunkGroup group = groups[row * shape.groups() + shape.groupOf(head)];
                new ChunkHead(problem, group, row, head, start).run(y, states, sequences);
            });
        }
        return new ScanResult(y, states, sequences);
    }

    private static IntStream over(int count, boolean parallel) {
        IntStream range = IntStream.range(0, count);
        return parallel ? range.parallel() : range;
    }
}
