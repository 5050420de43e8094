package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * Statistics of a tensor's values, gathered block by block.
 *
 * <p>Minimum, maximum, mean and standard deviation are of the finite values alone. Blocks are merged by {@link #merge}, in
 * their order; then the result is the same for any number of threads. Complex elements count as two values.
 */
public final class TensorStatistics {
    private static final int PART = ElementDecoder.CHUNK / 4;

    private final ElementDecoder decoder;
    private final double[] parts = new double[PART];
    private final double[] chunk = new double[ElementDecoder.CHUNK];
    private final float[] narrow = new float[ElementDecoder.CHUNK];
    private final int[] bits = new int[ElementDecoder.CHUNK];
    private final FloatBits floatBits = new FloatBits();
    private final ValueHistogram histogram = new ValueHistogram();
    private long values;
    private long finite;
    private long zeros;
    private long nans;
    private long infinities;
    private double min = Double.POSITIVE_INFINITY;
    private double max = Double.NEGATIVE_INFINITY;
    private double mean;
    private double squares;

    private TensorStatistics(ElementDecoder decoder) {
        this.decoder = decoder;
    }

    /** Statistics of no values yet; empty for types without a numeric meaning. */
    public static Optional<TensorStatistics> of(DType dtype) {
        return ElementDecoder.of(dtype).map(TensorStatistics::new);
    }

    /** Adds the {@code elements} elements at the start of a block. */
    public void add(ByteBuffer block, int elements) {
        int step = ElementDecoder.CHUNK / decoder.perElement();
        for (int first = 0; first < elements; first += step) {
            int count = Math.min(step, elements - first) * decoder.perElement();
            if (decoder.domain() != ElementDecoder.Domain.FLOAT || !addFloats(block, first, count)) {
                decoder.doubles(block, first, count, chunk);
                addChunk(count);
            }
        }
    }

    /**
     * The usual case: finite floats, in short loops that the compiler turns into vector instructions.
     *
     * @return false if nothing was done, because a value is not finite
     */
    private boolean addFloats(ByteBuffer block, int first, int count) {
        decoder.floats(block, first, count, narrow);
        floatBits.of(narrow, count, bits);
        if (!FloatBits.areFinite(bits, count)) {
            return false;
        }
        values += count;
        zeros += count - nonzero(bits, count);
        histogram.add(bits, count);
        float lowest = Float.POSITIVE_INFINITY;
        float highest = Float.NEGATIVE_INFINITY;
        for (int i = 0; i < count; i++) {
            lowest = Math.min(lowest, narrow[i]);
            highest = Math.max(highest, narrow[i]);
        }
        if (lowest < min) {
            min = lowest;
        }
        if (highest > max) {
            max = highest;
        }
        for (int i = 0; i < count; i++) {
            chunk[i] = narrow[i];
        }
        addMoments(count, sum(chunk, count, parts));
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
        int kept = 0;
        for (int i = 0; i < count; i++) {
            double value = chunk[i];
            if (!Double.isFinite(value)) {
                nans += Double.isNaN(value) ? 1 : 0;
                infinities += Double.isNaN(value) ? 0 : 1;
                continue;
            }
            // Kept in place for the sums.
            chunk[kept++] = value;
            zeros += value == 0 ? 1 : 0;
            if (value < min) {
                min = value;
            }
            if (value > max) {
                max = value;
            }
            histogram.add((float) value);
        }
        values += count;
        addMoments(kept, sum(chunk, kept, parts));
    }

    /** A second pass over the chunk is what makes the variance accurate. */
    private void addMoments(int count, double sum) {
        if (count == 0) {
            return;
        }
        double chunkMean = sum / count;
        for (int i = 0; i < count; i++) {
            double deviation = chunk[i] - chunkMean;
            chunk[i] = deviation * deviation;
        }
        combine(count, chunkMean, sum(chunk, count, parts));
    }

    /** Adds what was gathered of the block that comes after this one's. */
    public void merge(TensorStatistics next) {
        values += next.values;
        zeros += next.zeros;
        nans += next.nans;
        infinities += next.infinities;
        min = Math.min(min, next.min);
        max = Math.max(max, next.max);
        histogram.merge(next.histogram);
        if (next.finite > 0) {
            combine(next.finite, next.mean, next.squares);
        }
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

    /** Where the finite values lie. */
    public ValueHistogram histogram() {
        return histogram;
    }
}
