package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Orders of the rows of a weight.
 *
 * @param rows for each row of the result the row of the source
 */
record RowOrder(int[] rows) {

    WeightSource of(WeightSource weight) {
        return weight.gather(weight.elements() / rows.length, rows);
    }

    Optional<WeightSource> of(Optional<WeightSource> weight) {
        return weight.map(this::of);
    }

    /** Two components of a fused weight exchanged; they must be of equal size. */
    static RowOrder exchanged(int[] sizes, int a, int b) {
        int[] order = IntStream.range(0, sizes.length).toArray();
        order[a] = b;
        order[b] = a;
        List<Integer> rows = new ArrayList<>();
        for (int component : order) {
            int start = IntStream.range(0, component).map(i -> sizes[i]).sum();
            IntStream.range(start, start + sizes[component]).forEach(rows::add);
        }
        return new RowOrder(rows.stream().mapToInt(Integer::intValue).toArray());
    }

    /** Row i of the result is row i + by, around the end. */
    static RowOrder shifted(int count, int by) {
        return new RowOrder(
                IntStream.range(0, count).map(i -> Math.floorMod(i + by, count)).toArray());
    }

    /** Rows [from, from + count) shifted around their own end, the others as they are. */
    static RowOrder shiftedPart(int all, int from, int count, int by) {
        return new RowOrder(IntStream.range(0, all)
                .map(i -> i < from || i >= from + count ? i : from + Math.floorMod(i - from + by, count))
                .toArray());
    }

    static RowOrder reversed(int count) {
        return new RowOrder(IntStream.range(0, count).map(i -> count - 1 - i).toArray());
    }

    /**
     * A fused weight whose parts lie rank after rank brought into component order.
     *
     * @param sizes rows of each component over all ranks
     */
    static RowOrder ranksToComponents(int[] sizes, int ranks) {
        int all = IntStream.of(sizes).sum();
        List<Integer> rows = new ArrayList<>();
        int before = 0;
        for (int size : sizes) {
            for (int rank = 0; rank < ranks; rank++) {
                int start = rank * (all / ranks) + before / ranks;
                IntStream.range(start, start + size / ranks).forEach(rows::add);
            }
            before += size;
        }
        return new RowOrder(rows.stream().mapToInt(Integer::intValue).toArray());
    }

    /**
     * The rows of one rank of a fused weight.
     *
     * @param sizes rows of each component over all ranks
     */
    static RowOrder ofRank(int[] sizes, int ranks, int rank) {
        List<Integer> rows = new ArrayList<>();
        int before = 0;
        for (int size : sizes) {
            int start = before + rank * (size / ranks);
            IntStream.range(start, start + size / ranks).forEach(rows::add);
            before += size;
        }
        return new RowOrder(rows.stream().mapToInt(Integer::intValue).toArray());
    }

    /** True if every component can be cut evenly. */
    static boolean divides(int[] sizes, int ranks) {
        return ranks > 1 && IntStream.of(sizes).allMatch(size -> size % ranks == 0);
    }

    /** Rows of a weight taken by another one's order, where the result has another number of rows. */
    WeightSource from(WeightSource weight, int sourceRows) {
        return weight.gather(weight.elements() / sourceRows, rows);
    }

    /** Blocks of {@code size} rows, one a head, from row {@code from} on in another order; the other rows stay. */
    static RowOrder heads(int[] heads, int size, int from, int all) {
        return new RowOrder(IntStream.range(0, all)
                .map(i -> i < from || i >= from + heads.length * size
                        ? i
                        : from + heads[(i - from) / size] * size + (i - from) % size)
                .toArray());
    }

    /** This order, and another one of its result. */
    RowOrder then(RowOrder next) {
        return new RowOrder(IntStream.of(next.rows).map(row -> rows[row]).toArray());
    }
}
