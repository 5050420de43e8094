package dev.shardsmith.verify.diff;

import java.util.List;

/**
 * How two checkpoints differ.
 *
 * @param tensors every tensor compared, in the order of the left side and then of the right one
 * @param forms differences in tensors whose elements cannot be compared one by one, such as the shapes of sparse ones; they
 *     count against {@link #same()}
 * @param state differences in what is not a tensor of the model; they do not count against {@link #same()}, since a
 *     conversion has to change some of it
 * @param notes what is to be said about the comparison as a whole, in words
 * @param ignored what was left out, in words
 * @param bytes bytes of the tensors of the left side that were compared
 */
public record DiffResult(
        List<TensorDiff> tensors,
        List<StateDifference> forms,
        List<StateDifference> state,
        List<String> notes,
        List<String> ignored,
        long bytes) {
    /** True if every tensor is the same on both sides. */
    public boolean same() {
        return forms.isEmpty() && tensors.stream().allMatch(tensor -> tensor.status() == TensorDiff.Status.SAME);
    }

    /** How many tensors have this status. */
    public long count(TensorDiff.Status status) {
        return tensors.stream().filter(tensor -> tensor.status() == status).count();
    }
}
