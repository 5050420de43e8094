package dev.shardsmith.verify.validate;

import dev.shardsmith.verify.digest.TensorStatistics;
import java.util.Optional;

/**
 * What one pass over a tensor's values tells.
 *
 * @param name the tensor
 * @param statistics of its values; empty for types without a numeric meaning
 * @param checksum CRC-32C of its elements in row-major order; equal tensors have equal ones
 * @param replicaDifference the largest difference between copies that should be equal; 0 if they are, NaN if one of them is not
 *     a number where the other is one
 * @param replicas how many copies were compared
 * @param differing number of copies with any difference
 */
record ValueSummary(
        String name,
        Optional<TensorStatistics> statistics,
        long checksum,
        double replicaDifference,
        int replicas,
        int differing) {}
