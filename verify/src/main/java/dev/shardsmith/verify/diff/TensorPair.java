package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.diff.TensorDiff.Status;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.TensorReading;
import java.io.IOException;
import java.util.Optional;

/** Two tensors of one name. */
final class TensorPair {
    private final LogicalTensor left;
    private final LogicalTensor right;
    private final Optional<PairComparer> comparer;
    private final String note;

    private TensorPair(LogicalTensor left, LogicalTensor right, Optional<PairComparer> comparer, String note) {
        this.left = left;
        this.right = right;
        this.comparer = comparer;
        this.note = note;
    }

    /** Gets the readings ready, for one of {@code comparers}; with a true vocabulary, without the rows of padding. */
    static TensorPair of(LogicalTensor left, LogicalTensor right, DiffOptions options, Comparers comparers)
            throws IOException {
        Shape leftShape = left.shape();
        Shape rightShape = right.shape();
        boolean cut = options.trueVocabulary().isPresent()
                && Vocabulary.hasRows(
                        left.name(), leftShape, options.trueVocabulary().getAsLong())
                && Vocabulary.hasRows(
                        right.name(), rightShape, options.trueVocabulary().getAsLong());
        String note = "";
        if (cut) {
            long rows = options.trueVocabulary().getAsLong();
            note = "padding left out: " + (leftShape.size(0) - rows) + " and " + (rightShape.size(0) - rows) + " rows";
            leftShape = leftShape.with(0, rows);
            rightShape = rightShape.with(0, rows);
        }
        if (!leftShape.equals(rightShape)) {
            return new TensorPair(left, right, Optional.empty(), shapes(left, right));
        }
        if (!left.dtype().byteAligned() && left.dtype() != right.dtype()
                || !right.dtype().byteAligned() && left.dtype() != right.dtype()) {
            return new TensorPair(left, right, Optional.empty(), types(left.dtype(), right.dtype()));
        }
        TensorReading leftReading = TensorReading.of(left);
        TensorReading rightReading = TensorReading.of(right);
        if (left.dtype() != right.dtype() && !BlockComparer.compares(left.dtype(), right.dtype())) {
            return new TensorPair(left, right, Optional.empty(), types(left.dtype(), right.dtype()));
        }
        if (cut) {
            leftReading = leftReading.firstRows(leftShape.size(0));
            rightReading = rightReading.firstRows(rightShape.size(0));
        }
        return new TensorPair(left, right, Optional.of(new PairComparer(leftReading, rightReading, comparers)), note);
    }

    private static String shapes(LogicalTensor left, LogicalTensor right) {
        String shapes = "shape " + left.shape() + " against " + right.shape();
        return Vocabulary.differsInRowsAlone(left, right)
                ? shapes + "; if the rows differ in padding alone, give the size of the vocabulary: --true-vocab N"
                : shapes;
    }

    private static String types(DType left, DType right) {
        return "type " + left.shortName() + " against " + right.shortName();
    }

    TensorDiff compareHere() throws IOException {
        return comparer.isEmpty()
                ? diff(Status.DIFFERENT, Optional.empty(), note)
                : diff(comparer.get().here());
    }

    TensorDiff compareOn(OrderedWork work) throws IOException {
        return comparer.isEmpty()
                ? diff(Status.DIFFERENT, Optional.empty(), note)
                : diff(comparer.get().on(work));
    }

    private TensorDiff diff(Optional<TensorComparison> comparison) {
        Status status = comparison.isEmpty() || comparison.get().beyond() == 0 ? Status.SAME : Status.DIFFERENT;
        return diff(status, comparison, join(note, comparison.map(this::remark).orElse("")));
    }

    private TensorDiff diff(Status status, Optional<TensorComparison> comparison, String words) {
        return new TensorDiff(left.name(), status, Optional.of(left), Optional.of(right), comparison, words);
    }

    private String remark(TensorComparison comparison) {
        boolean sound = comparison.nanMismatches() == 0 && comparison.infinityMismatches() == 0;
        if (left.dtype() != right.dtype()) {
            String types = types(left.dtype(), right.dtype());
            if (comparison.differing() == 0) {
                return types + ": equal after cast, every value is exact in both";
            }
            boolean onlyRounded = sound && comparison.maxUlp() == 0;
            DType coarser = UlpScale.ofCoarser(left.dtype(), right.dtype()).dtype();
            return onlyRounded ? types + ": equal after cast to " + coarser.shortName() + ", which rounds" : types;
        }
        if (sound && comparison.differing() > 0 && comparison.maxAbs() == 0) {
            return "only signs of zero or payloads of NaN differ";
        }
        return "";
    }

    private static String join(String first, String second) {
        return first.isEmpty() || second.isEmpty() ? first + second : first + "; " + second;
    }
}
