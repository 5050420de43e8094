package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.WeightSource;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The comparison of two tables that tokens take rows from: every row, bit for bit, a bounded number of them at a time by each thread.
 *
 * <p>Ranks may hold different rows; they are counted over all ranks.
 */
final class TableComparison {
    /** Small enough that what all threads hold is little beside the heap: it is copied whenever garbage is collected. */
    private static final int BLOCK = 1 << 14;

    private final Table left;
    private final Table right;
    private final int width;

    /** The rows of all ranks of one side, with the factor that they are taken with. */
    private record Table(List<WeightSource> shards, int width, float factor) {
        int rows() {
            return shards.stream().mapToInt(shard -> shard.elements() / width).sum();
        }

        /** As many rows as one rank holds in a row, from one on, and no more than {@code most}. */
        float[] load(int from, int most) throws IOException {
            int first = 0;
            for (WeightSource shard : shards) {
                int count = shard.elements() / width;
                if (from < first + count) {
                    int some = Math.min(most, first + count - from);
                    return shard.rows(width, from - first, some).scaled(factor).load();
                }
                first += count;
            }
            return new float[0];
        }
    }

    private TableComparison(Table left, Table right, int width) {
        this.left = left;
        this.right = right;
        this.width = width;
    }

    /** The rows of both vocabularies. */
    static TableComparison ofTokens(LayeredModel left, LayeredModel right) {
        return of(left.width(), left.embedding(), left.embeddingScale(), right.embedding(), right.embeddingScale());
    }

    /** The learned positions of both; one that has none has no rows. */
    static TableComparison ofPositions(LayeredModel left, LayeredModel right) {
        return of(
                left.width(),
                left.positions().stream().toList(),
                1,
                right.positions().stream().toList(),
                1);
    }

    /** The rows of both heads. */
    static TableComparison ofHeads(LayeredModel left, LayeredModel right) {
        return of(left.width(), left.head(), left.logitScale(), right.head(), right.logitScale());
    }

    private static TableComparison of(
            int width, List<WeightSource> a, float aFactor, List<WeightSource> b, float bFactor) {
        return new TableComparison(new Table(a, width, aFactor), new Table(b, width, bFactor), width);
    }

    /** What came of some rows, of which the first in the order of the table counts. */
    private record Finding(Optional<Deviation> difference, Optional<IOException> failure) {
        boolean isAny() {
            return difference.isPresent() || failure.isPresent();
        }
    }

    /** The first element that differs among the rows that both have, as the difference of a token (the row) and a channel. */
    Optional<Deviation> difference() throws IOException {
        int rows = Math.min(left.rows(), right.rows());
        int most = Math.max(1, BLOCK / width);
        Optional<Finding> first = IntStream.range(0, (rows + most - 1) / most)
                .parallel()
                .mapToObj(block -> found(block * most, Math.min(rows, (block + 1) * most)))
                .filter(Finding::isAny)
                .findFirst();
        if (first.isPresent() && first.get().failure().isPresent()) {
            throw first.get().failure().get();
        }
        return first.flatMap(Finding::difference);
    }

    private Finding found(int from, int to) {
        try {
            return new Finding(difference(from, to), Optional.empty());
        } catch (IOException e) {
            return new Finding(Optional.empty(), Optional.of(e));
        }
    }

    private Optional<Deviation> difference(int first, int last) throws IOException {
        int from = first;
        while (from < last) {
            float[] a = left.load(from, last - from);
            float[] b = right.load(from, last - from);
            int count = Math.min(a.length, b.length);
            for (int i = 0; i < count; i++) {
                // Numbers that are none are all alike: a cast does not keep their payload.
                if (Float.floatToIntBits(a[i]) != Float.floatToIntBits(b[i])) {
                    return Optional.of(Deviation.ofBits(a[i], b[i], new LayerRow.Place(from + i / width, i % width)));
                }
            }
            from += count / width;
        }
        return Optional.empty();
    }

    /**
     * What is to be said about rows that one side lacks, unless they are padding: they are if the options of the other side
     * say so, or if they are zero.
     *
     * @param what they are rows of
     */
    Optional<String> unmatched(LayeredModel leftModel, LayeredModel rightModel, String what) throws IOException {
        int leftRows = left.rows();
        int rightRows = right.rows();
        int first = Math.min(leftRows, rightRows);
        int last = Math.max(leftRows, rightRows);
        boolean more = leftRows > rightRows;
        boolean isPadding = (more ? leftModel : rightModel).vocabularySize().isPadding(last, first);
        return isPadding ? Optional.empty() : unmatched(what);
    }

    /** The same of rows that no option explains. */
    Optional<String> unmatched(String what) throws IOException {
        int first = Math.min(left.rows(), right.rows());
        int last = Math.max(left.rows(), right.rows());
        if (first == last || isZero(left.rows() > right.rows() ? left : right, first, last)) {
            return Optional.empty();
        }
        return Optional.of(
                "%d %s on one side only, of which nothing says that they are padding: %d in the first checkpoint, %d in the second"
                        .formatted(last - first, what, left.rows(), right.rows()));
    }

    private boolean isZero(Table table, int first, int last) throws IOException {
        int most = Math.max(1, BLOCK / width);
        int from = first;
        while (from < last) {
            float[] values = table.load(from, Math.min(most, last - from));
            for (float value : values) {
                if (value != 0) {
                    return false;
                }
            }
            from += values.length / width;
        }
        return true;
    }
}
