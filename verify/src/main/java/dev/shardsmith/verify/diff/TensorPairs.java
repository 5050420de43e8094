package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.digest.TensorReading;
import java.io.IOException;
import java.util.Optional;

/** Compares two tensors of one type and shape, wherever they come from. */
public final class TensorPairs {
    private TensorPairs() {}

    /** How they differ, exactly; empty if all bits are the same. Done on the calling thread. */
    public static Optional<TensorComparison> compare(LogicalTensor left, LogicalTensor right) throws IOException {
        return new PairComparer(TensorReading.of(left), TensorReading.of(right), new Comparers(Tolerance.EXACT)).here();
    }
}
