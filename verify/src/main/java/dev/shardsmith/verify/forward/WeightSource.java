package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.DType;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A weight that is read when it is needed and dropped after its layer has run.
 *
 * <p>Weights are row-major, in float. Views of weights ({@link #gather}, {@link #concat}, {@link #scaled}) cost nothing
 * until they are read.
 */
public interface WeightSource {

    /** Elements. */
    int elements();

    /** The types that its elements are stored in. */
    Set<DType> types();

    /** Reads all elements; nobody changes the array that is returned. */
    float[] load() throws IOException;

    /** Where the elements lie in files, if nothing has to be computed from what lies there. */
    default Optional<StoredElements> stored() throws IOException {
        return Optional.empty();
    }

    /** A weight that is in memory already. */
    static WeightSource of(float[] values) {
        return of(values, DType.F32);
    }

    /** A weight that is in memory already, whose elements are numbers of a type. */
    static WeightSource of(float[] values, DType type) {
        return new Loaded(values, type);
    }

    /** All stored elements rounded to a type. */
    default WeightSource rounded(Rounding rounding) {
        return new Rounded(this, rounding);
    }

    /** Rows of another weight, in the given order. */
    default WeightSource gather(int rowWidth, int[] rows) {
        return new Gathered(this, rowWidth, rows);
    }

    /** Rows [from, from + count) of another weight. */
    default WeightSource rows(int rowWidth, int from, int count) {
        int[] rows = new int[count];
        for (int row = 0; row < count; row++) {
            rows[row] = from + row;
        }
        return gather(rowWidth, rows);
    }

    /** All elements multiplied by a factor. */
    default WeightSource scaled(float factor) {
        return factor == 1 ? this : new Scaled(this, factor);
    }

    /** This weight of [rows, columns] plus the product of two thin ones, {@code up · down}. */
    default WeightSource plusProduct(WeightSource up, WeightSource down, int columns) {
        return new LowRank(this, up, down, columns);
    }

    /** Weights one after the other. */
    static WeightSource concat(List<WeightSource> parts) {
        return parts.size() == 1 ? parts.get(0) : new Joined(List.copyOf(parts));
    }

    /** A weight in memory. */
    record Loaded(float[] values, DType type) implements WeightSource {
        @Override
        public int elements() {
            return values.length;
        }

        @Override
        public Set<DType> types() {
            return Set.of(type);
        }

        @Override
        public float[] load() {
            return values;
        }
    }

    /** A weight whose place in files is known. */
    record Stretch(StoredElements place, Set<DType> types) implements WeightSource {
        @Override
        public int elements() {
            return place.elements();
        }

        @Override
        public Optional<StoredElements> stored() {
            return Optional.of(place);
        }

        @Override
        public float[] load() throws IOException {
            return place.load();
        }
    }

    /** A weight rounded to another type. */
    record Rounded(WeightSource source, Rounding rounding) implements WeightSource {
        @Override
        public int elements() {
            return source.elements();
        }

        @Override
        public Set<DType> types() {
            return Set.of(rounding.type());
        }

        @Override
        public Optional<StoredElements> stored() throws IOException {
            return source.stored().map(all -> all.rounded(rounding));
        }

        @Override
        public float[] load() throws IOException {
            float[] values = source.load().clone();
            rounding.apply(values, 0, values.length);
            return values;
        }
    }

    /** Some rows of a weight. */
    record Gathered(WeightSource source, int rowWidth, int[] rows) implements WeightSource {
        /** Checks that all rows are there. */
        public Gathered {
            long there = rowWidth == 0 ? Integer.MAX_VALUE : source.elements() / rowWidth;
            for (int row : rows) {
                if (row < 0 || row >= there) {
                    throw new IllegalArgumentException("row " + row + " of a weight of " + there + " rows");
                }
            }
        }

        @Override
        public int elements() {
            return Math.multiplyExact(rowWidth, rows.length);
        }

        @Override
        public Set<DType> types() {
            return source.types();
        }

        @Override
        public WeightSource rounded(Rounding rounding) {
            return new Gathered(source.rounded(rounding), rowWidth, rows);
        }

        @Override
        public Optional<StoredElements> stored() throws IOException {
            return source.stored().map(all -> all.rows(rowWidth, rows));
        }

        @Override
        public float[] load() throws IOException {
            Optional<StoredElements> runs = stored();
            if (runs.isPresent()) {
                return runs.get().load();
            }
            float[] all = source.load();
            float[] some = new float[elements()];
            for (int row = 0; row < rows.length; row++) {
                System.arraycopy(all, rows[row] * rowWidth, some, row * rowWidth, rowWidth);
            }
            return some;
        }
    }

    /** A weight times a factor. */
    record Scaled(WeightSource source, float factor) implements WeightSource {
        @Override
        public int elements() {
            return source.elements();
        }

        @Override
        public Set<DType> types() {
            return source.types();
        }

        @Override
        public WeightSource rounded(Rounding rounding) {
            return new Scaled(source.rounded(rounding), factor);
        }

        @Override
        public float[] load() throws IOException {
            float[] values = source.load().clone();
            for (int i = 0; i < values.length; i++) {
                values[i] *= factor;
            }
            return values;
        }
    }

    /** Weights one after the other. */
    record Joined(List<WeightSource> parts) implements WeightSource {
        @Override
        public int elements() {
            int sum = 0;
            for (WeightSource part : parts) {
                sum = Math.addExact(sum, part.elements());
            }
            return sum;
        }

        @Override
        public Set<DType> types() {
            return parts.stream().flatMap(part -> part.types().stream()).collect(Collectors.toSet());
        }

        @Override
        public WeightSource rounded(Rounding rounding) {
            return new Joined(parts.stream().map(part -> part.rounded(rounding)).toList());
        }

        @Override
        public Optional<StoredElements> stored() throws IOException {
            List<StoredElements> all = new ArrayList<>();
            for (WeightSource part : parts) {
                part.stored().ifPresent(all::add);
            }
            return all.size() == parts.size() ? Optional.of(StoredElements.concat(all)) : Optional.empty();
        }

        @Override
        public float[] load() throws IOException {
            float[] joined = new float[elements()];
            int at = 0;
            for (WeightSource part : parts) {
                System.arraycopy(part.load(), 0, joined, at, part.elements());
                at += part.elements();
            }
            return joined;
        }
    }

    /** Those of some weights that are there. */
    static List<WeightSource> present(List<Optional<WeightSource>> weights) {
        return weights.stream().flatMap(Optional::stream).toList();
    }
}
