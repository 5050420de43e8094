package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.Optional;

/**
 * What became of one tensor.
 *
 * @param name its name on the left; on the right if it is there alone
 * @param status how the sides compare
 * @param left the tensor on the left, if it is there
 * @param right the tensor on the right, if it is there; under another name if it is renamed
 * @param comparison the figures, if values were compared
 * @param note what else is to be said, in words; empty if nothing
 */
public record TensorDiff(
        String name,
        Status status,
        Optional<LogicalTensor> left,
        Optional<LogicalTensor> right,
        Optional<TensorComparison> comparison,
        String note) {
    /** How two sides compare. */
    public enum Status {
        /** Equal bits, or equal values where the types differ, or within the tolerance. */
        SAME("same"),
        /** Other values, or another shape. */
        DIFFERENT("different"),
        /** On the left alone. */
        MISSING("missing"),
        /** On the right alone. */
        EXTRA("extra"),
        /** On the right under another name, with the same type, shape and bits. */
        RENAMED("renamed");

        private final String id;

        Status(String id) {
            this.id = id;
        }

        /** The word in reports. */
        public String id() {
            return id;
        }
    }

    /** True if both sides have it with different types. */
    public boolean retyped() {
        return left.isPresent()
                && right.isPresent()
                && left.get().dtype() != right.get().dtype();
    }

    /** True if both sides have it with different shapes. */
    public boolean reshaped() {
        return left.isPresent()
                && right.isPresent()
                && !left.get().shape().equals(right.get().shape());
    }

    /** The name on the right, if it is another one. */
    public Optional<String> newName() {
        return right.map(LogicalTensor::name).filter(other -> !other.equals(name));
    }

    /** The side that is there, the left one first. */
    public LogicalTensor either() {
        return left.or(() -> right).orElseThrow();
    }
}
