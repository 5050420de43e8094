package dev.shardsmith.verify.forward;

import java.util.Arrays;

/**
 * What the heads of one group share in one chunk of one row.
 *
 * @param count tokens of the chunk
 * @param b B of each token, [count][state]
 * @param cTurned C turned over, [state][count]
 * @param products {@code products[j][i] = C_i · B_j}; where i comes before j or another sequence, of no meaning
 * @param sequenceEnd for each token the index after the last token of its sequence, at most {@code count}
 */
record ChunkGroup(int count, float[][] b, float[][] cTurned, float[][] products, int[] sequenceEnd) {

    /** Computes them; the arrays of {@code previous}, where there is one of the same size, are used again. */
    static ChunkGroup of(ScanProblem problem, int row, int group, int start, int count, ChunkGroup previous) {
        ScanShape shape = problem.shape();
        ChunkGroup result = previous != null && previous.count == count
                ? previous
                : new ChunkGroup(
                        count,
                        new float[count][shape.state()],
                        new float[shape.state()][count],
                        new float[count][count],
                        new int[count]);
        for (int i = 0; i < count; i++) {
            int base = (row * shape.length() + start + i) * shape.groupState() + group * shape.state();
            System.arraycopy(problem.b(), base, result.b[i], 0, shape.state());
            for (int n = 0; n < shape.state(); n++) {
                result.cTurned[n][i] = problem.c()[base + n];
            }
        }
        for (int j = 0; j < count; j++) {
            Arrays.fill(result.products[j], 0);
            RankUpdate.add(result.products[j], result.cTurned, 0, shape.state(), result.b[j], 0, j, count);
        }
        result.findSequenceEnds(problem, row * shape.length() + start);
        return result;
    }

    private void findSequenceEnds(ScanProblem problem, int firstToken) {
        int end = count;
        for (int i = count - 1; i >= 0; i--) {
            if (problem.sequenceIds().isPresent() && i + 1 < count) {
                int[] ids = problem.sequenceIds().get();
                if (ids[firstToken + i] != ids[firstToken + i + 1]) {
                    end = i + 1;
                }
            }
            sequenceEnd[i] = end;
        }
    }
}
