package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.diff.TensorDiff.Status;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.TensorReading;
import dev.shardsmith.verify.digest.UnequalCopy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;

/**
 * Compares the copies of tensors on other ranks: a rank that holds other elements than the rest runs another model.
 *
 * <p>Copies that differ from their tensor count as a difference, unless the other side has the same ones. What a tolerance
 * allows between two checkpoints it allows between copies too.
 */
final class CopyDiff {
    private final Comparers comparers;
    private final Tolerance tolerance;
    private final OptionalLong rows;

    CopyDiff(DiffOptions options, Comparers comparers) {
        this.comparers = comparers;
        this.tolerance = options.tolerance();
        this.rows = options.trueVocabulary();
    }

    /** What was found of the tensors, those different whose copies differ; reads all copies. */
    List<TensorDiff> applyTo(List<TensorDiff> found, OrderedWork work) throws IOException {
        List<TensorDiff> tensors = new ArrayList<>(found);
        List<Integer> places = new ArrayList<>();
        List<Callable<TensorDiff>> tasks = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            TensorDiff diff = tensors.get(i);
            if (hasCopies(diff.left()) || hasCopies(diff.right())) {
                places.add(i);
                tasks.add(() -> applyTo(diff));
            }
        }
        int[] done = {0};
        work.inOrder(tasks.iterator(), diff -> tensors.set(places.get(done[0]++), diff));
        return tensors;
    }

    private static boolean hasCopies(Optional<LogicalTensor> tensor) throws IOException {
        return tensor.isPresent() && !tensor.get().replicas().isEmpty();
    }

    private TensorDiff applyTo(TensorDiff diff) throws IOException {
        List<UnequalCopy> ours = unequal(diff.left());
        List<UnequalCopy> theirs = unequal(diff.right());
        if (ours.isEmpty() && theirs.isEmpty()) {
            return diff;
        }
        boolean alike = contents(ours).equals(contents(theirs));
        String words = alike
                ? "copies on other ranks differ from the tensor, on both sides alike"
                : ours.isEmpty() ? words("B", theirs.get(0)) : words("A", ours.get(0));
        Status status = !alike && diff.status() == Status.SAME ? Status.DIFFERENT : diff.status();
        String note = diff.note().isEmpty() ? words : diff.note() + "; " + words;
        // The tensors themselves were compared, and no value differs.
        Optional<TensorComparison> figures = diff.comparison()
                .or(() -> status == diff.status() ? Optional.empty() : Optional.of(new TensorComparison().complete()));
        return new TensorDiff(diff.name(), status, diff.left(), diff.right(), figures, note);
    }

    private List<UnequalCopy> unequal(Optional<LogicalTensor> tensor) throws IOException {
        List<UnequalCopy> unequal = new ArrayList<>();
        if (tensor.isPresent()) {
            for (UnequalCopy copy : UnequalCopy.of(tensor.get(), compared(tensor.get()))) {
                if (tolerance.isExact() || isBeyond(tensor.get(), copy)) {
                    unequal.add(copy);
                }
            }
        }
        return unequal;
    }

    /** The part of a tensor that is compared: with a true vocabulary, without the rows of padding. */
    private Box compared(LogicalTensor tensor) {
        return rows.isPresent() && Vocabulary.hasRows(tensor.name(), tensor.shape(), rows.getAsLong())
                ? Box.slice(tensor.shape(), 0, 0, rows.getAsLong())
                : Box.whole(tensor.shape());
    }

    private boolean isBeyond(LogicalTensor tensor, UnequalCopy copy) throws IOException {
        TensorReading left = TensorReading.of(UnequalCopy.part(tensor, copy.part()));
        TensorReading right = TensorReading.of(tensor.name(), copy.copy());
        return new PairComparer(left, right, comparers)
                .here()
                .map(comparison -> comparison.beyond() > 0)
                .orElse(false);
    }

    private static List<String> contents(List<UnequalCopy> copies) throws IOException {
        List<String> contents = new ArrayList<>();
        for (UnequalCopy copy : copies) {
            contents.add(copy.content());
        }
        return contents.stream().sorted().toList();
    }

    private static String words(String side, UnequalCopy copy) {
        String file = copy.file().map(Path::toString).orElse("memory");
        return "the copy of %s on another rank of %s differs from the tensor, first at byte %d of %s"
                .formatted(copy.part(), side, copy.offset(), file);
    }
}
