package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.DType;
import java.io.IOException;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A weight and an adapter of low rank, as the one weight that they act as.
 *
 * @param base [rows, columns]
 * @param up [rows, rank]
 * @param down [rank, columns]
 * @param columns columns of the weight
 */
record LowRank(WeightSource base, WeightSource up, WeightSource down, int columns) implements WeightSource {

    LowRank {
        int rank = down.elements() / columns;
        int rows = base.elements() / columns;
        if (rank * columns != down.elements() || rows * columns != base.elements() || up.elements() != rows * rank) {
            throw new IllegalArgumentException(
                    "an adapter of %d and %d elements for a weight of %d elements in rows of %d"
                            .formatted(down.elements(), up.elements(), base.elements(), columns));
        }
    }

    @Override
    public int elements() {
        return base.elements();
    }

    @Override
    public Set<DType> types() {
        return Stream.of(base, up, down).flatMap(part -> part.types().stream()).collect(Collectors.toSet());
    }

    @Override
    public WeightSource rounded(Rounding rounding) {
        return new LowRank(base.rounded(rounding), up.rounded(rounding), down.rounded(rounding), columns);
    }

    @Override
    public float[] load() throws IOException {
        float[] sum = base.load().clone();
        float[] tall = up.load();
        float[] flat = down.load();
        int rank = flat.length / columns;
        double[] row = new double[columns];
        for (int r = 0; r < sum.length / columns; r++) {
            for (int c = 0; c < columns; c++) {
                row[c] = sum[r * columns + c];
            }
            for (int k = 0; k < rank; k++) {
                double factor = tall[r * rank + k];
                for (int c = 0; c < columns; c++) {
                    row[c] += factor * flat[k * columns + c];
                }
            }
            for (int c = 0; c < columns; c++) {
                sum[r * columns + c] = (float) row[c];
            }
        }
        return sum;
    }
}
