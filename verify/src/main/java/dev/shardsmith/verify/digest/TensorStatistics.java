package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * Statistics of a tensor's values, gathered block by block.
 *
 * <p>Minimum, maximum, mean and standard deviation are of the finite values alone. Blocks are added in their order, so
 * that the result is always the same. Complex elements count as two values.
 *
 * <p>To be used on the thread that made it, whose scratch space it shares.
 */
public final class TensorStatistics {
    private static final int PART = ElementDecoder.CHUNK / 4;

    private final StatisticsScratch scratch;
    private final Optional<ValueHistogram> histogram;
    private long values;
    private long finite;
    private long zeros;
    private long nans;
    private long infinities;
    private double min = Double.POSITIVE_INFINITY;
    private double max = Double.NEGATIVE_INFINITY;
    private double mean;
    private double squares;

    private TensorStatistics(StatisticsScratch scratch, Optional<ValueHistogram> histogram) {
        this.scratch = scratch;
        this.histogram = histogram;
    }

    /** Statistics of no values yet; empty for types without a numeric meaning. */
    public static Optional<TensorStatistics> of(DType dtype) {
        return StatisticsScratch.ofThisThread(dtype)
                .map(scratch -> new TensorStatistics(scratch, Optional.of(new ValueHistogram())));
    }

    /** As {@link #of}, but without a histogram. */
    public static Optional<TensorStatistics> withoutHistogram(DType dtype) {
        return StatisticsScratch.ofThisThread(dtype).map(scratch -> new TensorStatistics(scratch, Optional.empty()));
    }

    /** Adds the {@code elements} elements at the start of a block. */
    public void add(ByteBuffer block, int elements) {
        ElementDecoder decoder = scratch.decoder;
        int numbers = elements * decoder.perElement();
        if (scratch.hasCodes() && numbers >= CodeCounts.WORTHWHILE) {
            addCodes(block, numbers);
            return;
        }
        int step = ElementDecoder.CHUNK / decoder.perElement();
        boolean extremes = false;
        scratch.beginExtremes(Math.min(numbers, ElementDecoder.CHUNK));
        for (int first = 0; first < elements; first += step) {
            int count = Math.min(step, elements - first) * decoder.perElement();
            if (decoder.domain() == ElementDecoder.Domain.FLOAT && addFloats(block, first, count)) {
                extremes = true;
            } else {
                decoder.doubles(block, first, count, scratch.chunk);
                addChunk(count);
            }
        }
        if (extremes) {
            min = Math.min(min, scratch.min());
            max = Math.max(max, scratch.max());
        }
    }

    /** Types of 16 bits: each value that occurs is looked at once, however often it does. */
    private void addCodes(ByteBuffer block, int numbers) {
        CodeCounts codes = scratch.codes();
        codes.count(block, numbers);
        long kept = 0;
        double sum = 0;
        for (int page = 0; page < codes.pages(); page++) {
            float[] decoded = codes.values(page);
            for (int i = 0; i < CodeCounts.PAGE; i++) {
                int count = codes.counts()[codes.from(page) + i];
                if (count > 0 && isFinite(decoded[i], count)) {
                    kept += count;
                    sum += count * (double) decoded[i];
                    zeros += decoded[i] == 0 ? count : 0;
                    min = Math.min(min, decoded[i]);
                    max = Math.max(max, decoded[i]);
                    if (histogram.isPresent()) {
                        histogram.get().add(decoded[i], count);
                    }
                }
            }
        }
        values += numbers;
        if (kept == 0) {
            return;
        }
        double blockMean = sum / kept;
        double deviations = 0;
        for (int page = 0; page < codes.pages(); page++) {
            float[] decoded = codes.values(page);
            for (int i = 0; i < CodeCounts.PAGE; i++) {
                int count = codes.counts()[codes.from(page) + i];
                if (count > 0 && Float.isFinite(decoded[i])) {
                    double deviation = decoded[i] - blockMean;
                    deviations += count * (deviation * deviation);
                }
            }
        }
        combine(kept, blockMean, deviations);
    }

    /** Counts the values that are not finite. */
    private boolean isFinite(double value, int count) {
        if (Double.isNaN(value)) {
            nans += count;
        } else if (Double.isInfinite(value)) {
            infinities += count;
        }
        return Double.isFinite(value);
    }

    /**
     * The usual case: finite floats, in short loops that the compiler turns into vector instructions.
     *
     * @return false if nothing was done, because a value is not finite
     */
    private boolean addFloats(ByteBuffer block, int first, int count) {
        float[] narrow = scratch.narrow;
        int[] bits = scratch.bits;
        scratch.decoder.floats(block, first, count, narrow);
        scratch.floatBits.of(narrow, count, bits);
        if (!FloatBits.areFinite(bits, count)) {
            return false;
        }
        values += count;
        zeros += count - nonzero(bits, count);
        if (histogram.isPresent()) {
            histogram.get().add(bits, count);
        }
        scratch.addExtremes(narrow, count);
        widen(narrow, count, scratch.chunk);
        addMoments(count);
        return true;
    }

    private static int nonzero(int[] bits, int count) {
        int nonzero = 0;
        for (int i = 0; i < count; i++) {
            int magnitude = bits[i] << 1;
            nonzero += (magnitude | -magnitude) >>> 31;
        }
        return nonzero;
    }

    private static void widen(float[] narrow, int count, double[] wide) {
        for (int i = 0; i < count; i++) {
            wide[i] = narrow[i];
        }
    }

    /** Sums of four parts first, which become vectors, then of those with partial sums that keep the processor busy. */
    private static double sum(double[] values, int count, double[] parts) {
        Arrays.fill(values, count, values.length, 0);
        addParts(values, parts);
        double sum0 = 0;
        double sum1 = 0;
        double sum2 = 0;
        double sum3 = 0;
        for (int i = 0; i < PART; i += 4) {
            sum0 += parts[i];
            sum1 += parts[i + 1];
            sum2 += parts[i + 2];
            sum3 += parts[i + 3];
        }
        return (sum0 + sum1) + (sum2 + sum3);
    }

    private static void addParts(double[] values, double[] parts) {
        for (int i = 0; i < PART; i++) {
            parts[i] = (values[i] + values[PART + i]) + (values[2 * PART + i] + values[3 * PART + i]);
        }
    }

    /** The general case: one value after the other. */
    private void addChunk(int count) {
        double[] chunk = scratch.chunk;
        int kept = 0;
        for (int i = 0; i < count; i++) {
            double value = chunk[i];
            if (!isFinite(value, 1)) {
                continue;
            }
            // Kept in place for the sums.
            chunk[kept++] = value;
            zeros += value == 0 ? 1 : 0;
            min = Math.min(min, value);
            max = Math.max(max, value);
            if (histogram.isPresent()) {
                histogram.get().add((float) value, 1);
            }
        }
        values += count;
        addMoments(kept);
    }

    /** A second pass over the chunk is what makes the variance accurate. */
    private void addMoments(int count) {
        if (count == 0) {
            return;
        }
        double[] chunk = scratch.chunk;
        double chunkMean = sum(chunk, count, scratch.parts) / count;
        for (int i = 0; i < count; i++) {
            double deviation = chunk[i] - chunkMean;
            chunk[i] = deviation * deviation;
        }
        combine(count, chunkMean, sum(chunk, count, scratch.parts));
    }

    /** Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979. */
    private void combine(long count, double otherMean, double otherSquares) {
        double total = (double) finite + count;
        double delta = otherMean - mean;
        mean += delta * (count / total);
        squares += otherSquares + delta * delta * (finite * (count / total));
        finite += count;
    }

    /** Number of values, of every kind. */
    public long values() {
        return values;
    }

    /** Number of values that are neither NaN nor infinite. */
    public long finite() {
        return finite;
    }

    /** Number of zeros of either sign. */
    public long zeros() {
        return zeros;
    }

    /** Number of NaN values. */
    public long nans() {
        return nans;
    }

    /** Number of infinities of either sign. */
    public long infinities() {
        return infinities;
    }

    /** The smallest finite value; infinite if there is none. */
    public double min() {
        return min;
    }

    /** The largest finite value; negative infinity if there is none. */
    public double max() {
        return max;
    }

    /** The mean of the finite values, 0 if there are none. */
    public double mean() {
        return mean;
    }

    /** The standard deviation of the finite values (of the population), 0 if there are none. */
    public double std() {
        return finite == 0 ? 0 : Math.sqrt(squares / finite);
    }

    /**
     * Where the finite values of a block lie, counted one by one; empty if there are none.
     *
     * @param block the only block that was added
     * @param elements as they were given to {@link #add}
     * @param bars how many equal steps
     */
    public Optional<ValueHistogram.Bars> bars(ByteBuffer block, int elements, int bars) {
        if (finite == 0) {
            return Optional.empty();
        }
        EqualSteps steps = EqualSteps.of(min, max, bars);
        long[] counts = new long[steps.bars()];
        ElementDecoder decoder = scratch.decoder;
        int step = ElementDecoder.CHUNK / decoder.perElement();
        for (int first = 0; first < elements; first += step) {
            int count = Math.min(step, elements - first) * decoder.perElement();
            decoder.doubles(block, first, count, scratch.chunk);
            for (int i = 0; i < count; i++) {
                if (Double.isFinite(scratch.chunk[i])) {
                    counts[steps.place(scratch.chunk[i])]++;
                }
            }
        }
        return Optional.of(new ValueHistogram.Bars(min, max, counts));
    }

    /**
     * Where the finite values lie.
     *
     * @throws java.util.NoSuchElementException of statistics without a histogram
     */
    public ValueHistogram histogram() {
        return histogram.orElseThrow();
    }
}
