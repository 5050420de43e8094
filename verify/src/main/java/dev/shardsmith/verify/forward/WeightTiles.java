package dev.shardsmith.verify.forward;

import java.io.IOException;

/** A matrix of weights, [out, in], of which rectangles are read. */
@FunctionalInterface
interface WeightTiles {

    /**
     * Reads a rectangle: {@code count} elements from column {@code column} on of each of {@code rows} rows from {@code first} on.
     *
     * @param reader scratch space of the calling thread
     * @param tile gets them, row by row
     */
    void read(ElementReader reader, int first, int rows, int column, int count, float[] tile) throws IOException;

    /** A matrix in memory. */
    static WeightTiles of(float[] weight, int in) {
        return (reader, first, rows, column, count, tile) -> {
            for (int row = 0; row < rows; row++) {
                System.arraycopy(weight, (first + row) * in + column, tile, row * count, count);
            }
        };
    }

    /** A matrix in files. */
    static WeightTiles of(StoredElements weight, int in) {
        return (reader, first, rows, column, count, tile) -> {
            if (count == in) {
                weight.part(first * in, rows * in).load(reader, tile, 0);
                return;
            }
            for (int row = 0; row < rows; row++) {
                weight.part((first + row) * in + column, count).load(reader, tile, row * count);
            }
        };
    }
}
