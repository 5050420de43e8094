package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.Shape;
import java.util.Optional;

/**
 * One logical tensor in a manifest.
 *
 * @param name canonical name
 * @param shape sizes of the undivided tensor
 * @param dtype type, spelled as in safetensors
 * @param sha256 over the elements in row-major order, little-endian, as stored; lower-case hexadecimal
 * @param summary of the values, where the type has any
 */
public record TensorEntry(String name, Shape shape, String dtype, String sha256, Optional<Summary> summary) {
    /**
     * The figures of {@link TensorStatistics} that a manifest keeps.
     *
     * @param min smallest finite value, 0 if there is none
     * @param max largest finite value, 0 if there is none
     * @param mean of the finite values
     * @param std of the finite values
     * @param zeros number of zeros
     * @param nans number of NaN values
     * @param infinities number of infinities
     */
    public record Summary(double min, double max, double mean, double std, long zeros, long nans, long infinities) {
        /** The figures of statistics. */
        public static Summary of(TensorStatistics statistics) {
            boolean any = statistics.finite() > 0;
            return new Summary(
                    any ? statistics.min() : 0,
                    any ? statistics.max() : 0,
                    statistics.mean(),
                    statistics.std(),
                    statistics.zeros(),
                    statistics.nans(),
                    statistics.infinities());
        }
    }
}
