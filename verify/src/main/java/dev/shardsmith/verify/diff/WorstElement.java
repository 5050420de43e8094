package dev.shardsmith.verify.diff;

/**
 * One element that differs.
 *
 * @param index its row-major index in the logical tensor (of the number, for complex types: two an element)
 * @param left its value on the left side
 * @param right its value on the right side
 * @param difference {@code |left - right|}; infinite where NaN or an infinity stands on one side only
 */
public record WorstElement(long index, double left, double right, double difference) {
    /** True if this one is worse, or as bad and earlier. */
    boolean before(WorstElement other) {
        int order = Double.compare(difference, other.difference);
        return order > 0 || (order == 0 && index < other.index);
    }
}
