package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Statistics of a tensor's values, gathered block by block.
 *
 * <p>Minimum, maximum, mean and standard deviation are of the finite values alone. Blocks are merged by {@link #merge}, in
 * their order; then the result is the same for any number of threads. Complex elements count as two values.
 */
public final class TensorStatistics {
    private final ElementDecoder decoder;
    private final double[] chunk = new double[ElementDecoder.CHUNK];
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
            decoder.doubles(block, first, count, chunk);
            addChunk(count);
        }
    }

    private void addChunk(int count) {
        long kept = 0;
        double sum = 0;
        for (int i = 0; i < count; i++) {
            double value = chunk[i];
            if (!Double.isFinite(value)) {
                nans += Double.isNaN(value) ? 1 : 0;
                infinities += Double.isNaN(value) ? 0 : 1;
                continue;
            }
            // Kept in place for the second pass, which is what makes the variance accurate.
            chunk[(int) kept++] = value;
            sum += value;
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
        if (kept > 0) {
            double chunkMean = sum / kept;
            double deviations = 0;
            for (int i = 0; i < kept; i++) {
                double deviation = chunk[i] - chunkMean;
                deviations += deviation * deviation;
            }
            combine(kept, chunkMean, deviations);
        }
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
