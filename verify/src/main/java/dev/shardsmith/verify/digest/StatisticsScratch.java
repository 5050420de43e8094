package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import java.util.Arrays;
import java.util.Optional;

/**
 * The arrays that statistics of one type need while a block is looked at, which are larger than what stays.
 *
 * <p>The threads of {@link OrderedWork} keep theirs, so that many small tensors do not each make them anew.
 */
final class StatisticsScratch {
    private static final int CHUNK = ElementDecoder.CHUNK;

    final ElementDecoder decoder;
    final double[] parts = new double[CHUNK / 4];
    final double[] chunk = new double[CHUNK];
    final float[] narrow = new float[CHUNK];
    final int[] bits = new int[CHUNK];
    final FloatBits floatBits = new FloatBits();
    private final float[] lowest = new float[CHUNK];
    private final float[] highest = new float[CHUNK];
    private int places;
    private CodeCounts codes;

    StatisticsScratch(ElementDecoder decoder) {
        this.decoder = decoder;
    }

    /** Scratch space of the calling thread; empty for types without a numeric meaning. */
    static Optional<StatisticsScratch> ofThisThread(DType dtype) {
        return Thread.currentThread() instanceof ReadingThread thread
                ? thread.statistics(dtype)
                : ElementDecoder.of(dtype).map(StatisticsScratch::new);
    }

    /** Whether a value has 16 bits, so that its code can be counted. */
    boolean hasCodes() {
        return decoder.domain() == ElementDecoder.Domain.FLOAT
                && decoder.dtype().byteSize() == 2 * decoder.perElement();
    }

    /** Counters of codes, made when they are first needed. */
    CodeCounts codes() {
        if (codes == null) {
            codes = new CodeCounts(decoder);
        }
        return codes;
    }

    /** Forgets the extremes, for chunks of at most {@code most} values. */
    void beginExtremes(int most) {
        places = most;
        Arrays.fill(lowest, 0, most, Float.POSITIVE_INFINITY);
        Arrays.fill(highest, 0, most, Float.NEGATIVE_INFINITY);
    }

    /** Takes in finite values: each place of a chunk has extremes of its own, so that the loops become vectors. */
    void addExtremes(float[] values, int count) {
        lower(values, count, lowest);
        raise(values, count, highest);
    }

    private static void lower(float[] values, int count, float[] lowest) {
        for (int i = 0; i < count; i++) {
            lowest[i] = Math.min(lowest[i], values[i]);
        }
    }

    private static void raise(float[] values, int count, float[] highest) {
        for (int i = 0; i < count; i++) {
            highest[i] = Math.max(highest[i], values[i]);
        }
    }

    /** The smallest of the values taken in, infinite if there are none. */
    float min() {
        float min = Float.POSITIVE_INFINITY;
        for (int i = 0; i < places; i++) {
            min = Math.min(min, lowest[i]);
        }
        return min;
    }

    /** The largest of the values taken in, negative infinity if there are none. */
    float max() {
        float max = Float.NEGATIVE_INFINITY;
        for (int i = 0; i < places; i++) {
            max = Math.max(max, highest[i]);
        }
        return max;
    }
}
