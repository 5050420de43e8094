package dev.shardsmith.formats.dcp;

import java.util.Arrays;

/**
 * The chunks of one tensor by where they begin in its first dimension.
 *
 * <p>Thousands of experts or layers may be stacked in one tensor, each a chunk of its own; looking at all chunks for each of them
 * would take the square of their number.
 */
final class RowOrder {
    private final int firstRow;
    private final int count;
    /** Begin of each chunk in the first dimension, ascending; empty if chunks have other lengths there than 1. */
    private final long[] begins;
    /** Number of the chunk of each begin. */
    private final int[] chunks;

    private RowOrder(int firstRow, int count, long[] begins, int[] chunks) {
        this.firstRow = firstRow;
        this.count = count;
        this.begins = begins;
        this.chunks = chunks;
    }

    /** The order of an entry's chunks. */
    static RowOrder of(DcpMetadata metadata, int entry) {
        int first = metadata.firstRow(entry);
        int count = metadata.rowCount(entry);
        long[] begins = new long[count];
        for (int i = 0; i < count; i++) {
            if (metadata.rank(entry) == 0 || metadata.sizes(entry, first + i)[0] != 1) {
                return new RowOrder(first, count, new long[0], new int[0]);
            }
            begins[i] = metadata.offsets(entry, first + i)[0];
        }
        Integer[] order = new Integer[count];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> Long.compare(begins[a], begins[b]));
        long[] sorted = new long[count];
        int[] chunks = new int[count];
        for (int i = 0; i < count; i++) {
            chunks[i] = order[i];
            sorted[i] = begins[order[i]];
        }
        return new RowOrder(first, count, sorted, chunks);
    }

    /** Rows of the chunks that may hold an index of the first dimension, in the order of the metadata. */
    int[] rowsAt(long index) {
        if (begins.length == 0) {
            int[] all = new int[count];
            Arrays.setAll(all, i -> firstRow + i);
            return all;
        }
        int from = lowerBound(index);
        int to = from;
        while (to < begins.length && begins[to] == index) {
            to++;
        }
        int[] rows = Arrays.copyOfRange(chunks, from, to);
        for (int i = 0; i < rows.length; i++) {
            rows[i] += firstRow;
        }
        return rows;
    }

    private int lowerBound(long index) {
        int low = 0;
        int high = begins.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (begins[middle] < index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
}
