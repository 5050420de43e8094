package dev.shardsmith.verify.digest;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Arrays;

/**
 * Counts how often each code of a type of 16 bits occurs: then every statistic is one of at most 65,536 values.
 *
 * <p>Counting takes a few instructions a value on any processor, where looking at the values takes a dozen for each. It pays
 * for large blocks, since all counters are looked at afterwards. Codes are in pages, of which most tensors use few.
 *
 * <p>Not safe for use by several threads.
 */
final class CodeCounts {
    /** From so many values on counting is faster than looking at each value. */
    static final int WORTHWHILE = 1 << 16;

    /** Codes of a page. */
    static final int PAGE = 256;

    private static final int CODES = 1 << 16;
    private static final int WORDS = 1024;

    /** Two counters of each code: where a code occurs twice in a row, no addition waits for the one before. */
    private final int[] counts = new int[CODES];

    private final int[] more = new int[CODES];
    private final long[] words = new long[WORDS];
    private final float[][] values = new float[CODES / PAGE][];
    private final int[] used = new int[CODES / PAGE];
    private final ElementDecoder decoder;
    private int pages;

    /** Counters of a type of 16 bits whose values are floats. */
    CodeCounts(ElementDecoder decoder) {
        this.decoder = decoder;
    }

    /** Counts the first {@code codes} codes of a block instead of what was counted before. */
    void count(ByteBuffer block, int codes) {
        clear();
        ByteBuffer bytes = block.duplicate().order(ByteOrder.LITTLE_ENDIAN).clear();
        LongBuffer longs = bytes.asLongBuffer();
        int whole = codes / 4;
        for (int done = 0; done < whole; done += WORDS) {
            int count = Math.min(WORDS, whole - done);
            longs.get(done, words, 0, count);
            count(words, count, counts, more);
        }
        for (int code = 4 * whole; code < codes; code++) {
            counts[bytes.getShort(2 * code) & 0xffff]++;
        }
        for (int page = 0; page < used.length; page++) {
            if (total(counts, more, page * PAGE) != 0) {
                used[pages++] = page;
            }
        }
    }

    private static void count(long[] words, int count, int[] counts, int[] more) {
        for (int i = 0; i < count; i++) {
            long word = words[i];
            counts[(int) word & 0xffff]++;
            more[(int) (word >>> 16) & 0xffff]++;
            counts[(int) (word >>> 32) & 0xffff]++;
            more[(int) (word >>> 48)]++;
        }
    }

    /** Adds up both counters of each code of a page. */
    private static int total(int[] counts, int[] more, int from) {
        int total = 0;
        for (int i = from; i < from + PAGE; i++) {
            counts[i] += more[i];
            total += counts[i];
        }
        return total;
    }

    private void clear() {
        for (int i = 0; i < pages; i++) {
            int from = used[i] * PAGE;
            Arrays.fill(counts, from, from + PAGE, 0);
            Arrays.fill(more, from, from + PAGE, 0);
        }
        pages = 0;
    }

    /** Pages of which a code occurred, in the order of the codes. */
    int pages() {
        return pages;
    }

    /** How often each code occurred; those of a page begin at {@link #from}. */
    int[] counts() {
        return counts;
    }

    /** The place of the first count of a page. */
    int from(int page) {
        return used[page] * PAGE;
    }

    /** The values of the codes of a page. */
    float[] values(int page) {
        int place = used[page];
        if (values[place] == null) {
            ByteBuffer codes = ByteBuffer.allocate(2 * PAGE).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < PAGE; i++) {
                codes.putShort((short) (place * PAGE + i));
            }
            values[place] = new float[PAGE];
            decoder.floats(codes, 0, PAGE, values[place]);
        }
        return values[place];
    }
}
