package dev.shardsmith.verify.check;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.family.NamedWeights;
import dev.shardsmith.verify.forward.Rounding;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** A small tensor of [rows, columns] for making models; vectors have one column. */
record Grid(int rows, int columns, float[] values) {

    static Grid normal(RandomGenerator random, int rows, int columns, double scale, double mean) {
        float[] values = new float[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (mean + scale * random.nextGaussian());
        }
        return new Grid(rows, columns, values);
    }

    /** A matrix that keeps the size of what it multiplies. */
    static Grid matrix(RandomGenerator random, int rows, int columns) {
        return normal(random, rows, columns, 1 / Math.sqrt(columns), 0);
    }

    Grid rows(int from, int count) {
        float[] part = new float[count * columns];
        System.arraycopy(values, from * columns, part, 0, part.length);
        return new Grid(count, columns, part);
    }

    Grid columns(int from, int count) {
        float[] part = new float[rows * count];
        for (int row = 0; row < rows; row++) {
            System.arraycopy(values, row * columns + from, part, row * count, count);
        }
        return new Grid(rows, count, part);
    }

    static Grid stacked(List<Grid> parts) {
        List<Float> all = new ArrayList<>();
        int rows = 0;
        for (Grid part : parts) {
            rows += part.rows;
            for (float value : part.values) {
                all.add(value);
            }
        }
        float[] values = new float[all.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = all.get(i);
        }
        return new Grid(rows, parts.get(0).columns, values);
    }

    /** The rows of a rank: its even share of every component, one after the other. */
    Grid share(int rank, int ranks, int... components) {
        List<Grid> parts = new ArrayList<>();
        int start = 0;
        for (int size : components) {
            parts.add(rows(start + rank * (size / ranks), size / ranks));
            start += size;
        }
        return stacked(parts);
    }

    /** Row i of the result is row {@code order[i]}. */
    Grid reordered(int... order) {
        List<Grid> parts = new ArrayList<>();
        for (int row : order) {
            parts.add(rows(row, 1));
        }
        return stacked(parts);
    }

    /** Components put in another order. */
    Grid components(int[] sizes, int... order) {
        List<Grid> parts = new ArrayList<>();
        for (int component : order) {
            int start = 0;
            for (int i = 0; i < component; i++) {
                start += sizes[i];
            }
            parts.add(rows(start, sizes[component]));
        }
        return stacked(parts);
    }

    Grid times(float factor) {
        float[] scaled = values.clone();
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] *= factor;
        }
        return new Grid(rows, columns, scaled);
    }

    Grid plus(float amount) {
        float[] moved = values.clone();
        for (int i = 0; i < moved.length; i++) {
            moved[i] += amount;
        }
        return new Grid(rows, columns, moved);
    }

    /** The same, rounded to one type after the other. */
    Grid cast(DType... types) {
        float[] rounded = values.clone();
        for (DType type : types) {
            for (int i = 0; i < rounded.length; i++) {
                rounded[i] =
                        Rounding.of(type).isPresent() ? Rounding.of(type).get().of(rounded[i]) : rounded[i];
            }
        }
        return new Grid(rows, columns, rounded);
    }

    /** The same with one value replaced. */
    Grid with(int index, float value) {
        float[] changed = values.clone();
        changed[index] = value;
        return new Grid(rows, columns, changed);
    }

    NamedWeights.Entry entry(boolean vector, DType type) {
        return new NamedWeights.Entry(
                vector ? new int[] {rows} : new int[] {rows, columns}, WeightSource.of(values, type));
    }
}
