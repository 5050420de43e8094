package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;

/**
 * {@code y = x · weightᵀ + bias} in double precision, with weights that are floats.
 *
 * <p>A task owns some outputs. Of each tile of their weights it turns {@value #INPUTS} inputs over at a time (input-major and in
 * double, so that outputs are adjacent): each weight is read and widened once for all tokens. Tiles and panels stay in the
 * caches and are used again, by one task after the other.
 *
 * <p>Every result is one chain of fused multiply-adds: it starts from the bias and takes the inputs in their order. How outputs
 * are divided does not change a bit of it, and what is known of the rounding error of a sum of {@code in} terms in order
 * ({@link Pass#linear}) is true of it.
 *
 * @param x [rows, in]
 * @param weight [out, in]
 * @param bias [out], or empty
 * @param rows tokens
 */
record WideProduct(double[] x, WeightTiles weight, float[] bias, int rows, int in, int out) {
    private static final int OUTPUTS = 128;
    private static final int FEWEST_OUTPUTS = 32;
    private static final int INPUTS = 128;
    /** Doubles of a cache line; inputs that are turned over together. */
    private static final int LINE = 8;

    /**
     * The product, and what its error depends on.
     *
     * @param y [rows, out]
     * @param largestRow the largest Euclidean norm of a row of the weight
     */
    record Result(double[] y, double largestRow) {}

    /** Room that one task after the other works in. */
    static final class Scratch {
        private final TileWalk.Room room = new TileWalk.Room();
        private final double[][] panel = WideUpdate.rows(INPUTS, OUTPUTS);
        private double[][] sums = new double[0][];

        private double[][] sums(int rows) {
            if (sums.length < rows) {
                sums = WideUpdate.rows(rows, OUTPUTS);
            }
            return sums;
        }
    }

    /** Multiplies. */
    Result run(ScratchPool<Scratch> scratches) throws IOException {
        double[] y = new double[Math.multiplyExact(rows, out)];
        double[] squares = new double[out];
        try {
            OutputBlocks.of(out, OUTPUTS, FEWEST_OUTPUTS, LINE)
                    .forEach((first, count) -> scratches.use(scratch -> outputs(scratch, first, count, y, squares)));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return new Result(y, RowNorms.largest(squares));
    }

    private void outputs(Scratch scratch, int first, int count, double[] y, double[] squares) {
        // One row more than there are tokens, for the squares.
        double[][] sums = scratch.sums(rows + 1);
        for (int row = 0; row < rows; row++) {
            for (int o = 0; o < count; o++) {
                sums[row][o] = bias.length == 0 ? 0 : bias[first + o];
            }
        }
        Arrays.fill(sums[rows], 0, count, 0);
        new TileWalk(weight, in, INPUTS).forEach(scratch.room, first, count, (tile, column, columns) -> {
            for (int k = 0; k < columns; k += INPUTS) {
                int inputs = Math.min(INPUTS, columns - k);
                turn(tile, columns, k, inputs, count, scratch.panel);
                WideUpdate.addAll(sums, rows, scratch.panel, inputs, x, column + k, in, count);
                WideUpdate.addSquares(sums[rows], scratch.panel, inputs, count);
            }
        });
        for (int row = 0; row < rows; row++) {
            System.arraycopy(sums[row], 0, y, row * out + first, count);
        }
        System.arraycopy(sums[rows], 0, squares, first, count);
    }

    /** Inputs [from, from + inputs) of a tile, input-major. */
    private static void turn(float[] tile, int width, int from, int inputs, int count, double[][] panel) {
        int k = 0;
        for (; k + LINE <= inputs; k += LINE) {
            eight(tile, width, from + k, count, panel, k);
        }
        for (; k < inputs; k++) {
            for (int o = 0; o < count; o++) {
                panel[k][o] = tile[o * width + from + k];
            }
        }
    }

    private static void eight(float[] tile, int width, int from, int count, double[][] panel, int k) {
        double[] p0 = panel[k];
        double[] p1 = panel[k + 1];
        double[] p2 = panel[k + 2];
        double[] p3 = panel[k + 3];
        double[] p4 = panel[k + 4];
        double[] p5 = panel[k + 5];
        double[] p6 = panel[k + 6];
        double[] p7 = panel[k + 7];
        int at = from;
        for (int o = 0; o < count; o++) {
            p0[o] = tile[at];
            p1[o] = tile[at + 1];
            p2[o] = tile[at + 2];
            p3[o] = tile[at + 3];
            p4[o] = tile[at + 4];
            p5[o] = tile[at + 5];
            p6[o] = tile[at + 6];
            p7[o] = tile[at + 7];
            at += width;
        }
    }
}
