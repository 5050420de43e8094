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
 * Steps and decays are double, products and states float. Any length works; the last chunk is short.
 */
final class ChunkedScan {
    /** Tokens of a chunk: few, because the products with the state are the ones that run fastest. */
    static final int CHUNK = 64;

    /** Channels of a task; long rows make products fast. */
    private static final int CHANNELS = 512;

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
        int perGroup = shape.heads() / shape.groups();
        int heads = Math.min(perGroup, Math.max(1, CHANNELS / shape.headDim()));
        int blocks = (perGroup + heads - 1) / heads;
        IntStream tasks = IntStream.range(0, shape.batch() * shape.groups() * blocks);
        boolean parallel = (long) shape.tokens() * shape.inner() * shape.state() > PARALLEL_ABOVE;
        (parallel ? tasks.parallel() : tasks).forEach(task -> {
            int group = task / blocks % shape.groups();
            int first = task % blocks * heads;
            int count = Math.min(heads, perGroup - first);
            int row = task / blocks / shape.groups();
            new ScanBlock(problem, row, group, group * perGroup + first, count, Math.min(chunk, shape.length()))
                    .run(y, states, sequences);
        });
        return new ScanResult(y, states, sequences);
    }
}
