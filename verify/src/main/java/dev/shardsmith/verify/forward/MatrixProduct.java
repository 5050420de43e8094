package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;

/**
 * {@code y = x · weightᵀ + bias} in float, in blocks.
 *
 * <p>A task owns some outputs. Of each tile of their weights it turns {@value #INPUTS} inputs over at a time (input-major, so
 * that outputs are adjacent), a panel that stays in the second-level cache while it is added to all tokens, three of them
 * together, whose sums stay in the first level.
 *
 * @param x [rows, in]
 * @param weight [out, in]
 * @param bias [out], or empty
 * @param rows tokens
 */
record MatrixProduct(float[] x, WeightTiles weight, float[] bias, int rows, int in, int out) {
    private static final int OUTPUTS = 1024;
    /** Outputs of a task if there are few tokens: their weights are read in longer runs then. */
    private static final int FEW_OUTPUTS = 256;

    private static final int FEW_TOKENS = 256;
    /** Sums of a task. */
    private static final int SUMS = 1 << 21;

    private static final int FEWEST_OUTPUTS = 64;
    private static final int INPUTS = 120;
    private static final int LINE = 16;

    /**
     * The product, and what its error depends on.
     *
     * @param y [rows, out]
     * @param largestRow the largest Euclidean norm of a row of the weight
     */
    record Result(float[] y, double largestRow) {}

    /** Room that one task after the other works in. */
    static final class Scratch {
        private final TileWalk.Room room = new TileWalk.Room();
        private final float[][] panel = RankUpdate.rows(INPUTS, OUTPUTS);
    }

    /** Multiplies. */
    Result run(ScratchPool<Scratch> scratches) throws IOException {
        float[] y = new float[Math.multiplyExact(rows, out)];
        double[] squares = new double[out];
        try {
            OutputBlocks.of(out, mostOutputs(), FEWEST_OUTPUTS, LINE)
                    .forEach((first, count) -> scratches.use(scratch -> outputs(scratch, first, count, y, squares)));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return new Result(y, RowNorms.largest(squares));
    }

    private int mostOutputs() {
        if (rows <= FEW_TOKENS) {
            return FEW_OUTPUTS;
        }
        return Math.max(FEWEST_OUTPUTS, Math.min(OUTPUTS, SUMS / rows / LINE * LINE));
    }

    private void outputs(Scratch scratch, int first, int count, float[] y, double[] squares) {
        float[][] sums = RankUpdate.rows(rows, count);
        double[] norms = new double[count];
        if (bias.length > 0) {
            Arrays.stream(sums).forEach(row -> System.arraycopy(bias, first, row, 0, count));
        }
        new TileWalk(weight, in, INPUTS).forEach(scratch.room, first, count, (tile, column, columns) -> {
            for (int k = 0; k < columns; k += INPUTS) {
                int inputs = Math.min(INPUTS, columns - k);
                turn(tile, columns, k, inputs, count, scratch.panel);
                RankUpdate.Factors factors = new RankUpdate.Factors(x, column + k, in, 1);
                RankUpdate.addAll(sums, 0, rows, scratch.panel, 0, inputs, factors, 0, count);
                RankUpdate.addSquares(norms, scratch.panel, inputs, count);
            }
        });
        System.arraycopy(norms, 0, squares, first, count);
        for (int row = 0; row < rows; row++) {
            System.arraycopy(sums[row], 0, y, row * out + first, count);
        }
    }

    /** Inputs [from, from + inputs) of a tile, input-major. */
    private static void turn(float[] tile, int width, int from, int inputs, int count, float[][] panel) {
        for (int k = 0; k < inputs; k += LINE) {
            int last = Math.min(inputs, k + LINE);
            for (int o = 0; o < count; o++) {
                int base = o * width + from;
                for (int i = k; i < last; i++) {
                    panel[i][o] = tile[base + i];
                }
            }
        }
    }
}
