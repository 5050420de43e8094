package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.OrderedWork;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;

/**
 * Compares two checkpoints of any layouts, tensor by tensor.
 *
 * <p>Memory does not depend on the size of the model: a few blocks for each thread. The result does not depend on the number
 * of threads.
 */
public final class CheckpointDiff {
    /** Up to this size one thread compares a tensor, side by side with others; larger ones are spread over the threads. */
    private static final long SMALL = 8L << 20;

    /** Tensors that are compared at a time: while the last part of one is under way, the threads begin with the next. */
    private static final int TENSORS = 2;

    private final DiffOptions options;
    private final LongConsumer progress;
    private final Comparers comparers;

    /**
     * A comparison.
     *
     * @param progress is told the bytes of each tensor of the left side that is done; by several threads
     */
    public CheckpointDiff(DiffOptions options, LongConsumer progress) {
        this.options = options;
        this.progress = progress;
        this.comparers = new Comparers(options.tolerance());
    }

    /** Bytes of the left side's tensors that will be compared, for a progress meter. */
    public long bytes(ComparedTensors tensors) {
        return tensors.left().values().stream()
                .filter(tensor -> options.compares(tensor.name()))
                .mapToLong(LogicalTensor::bytes)
                .sum();
    }

    /**
     * Compares two checkpoints.
     *
     * @throws CheckpointException if a side cannot be read
     */
    public DiffResult compare(ModelView left, ModelView right) throws IOException {
        return compare(left, right, ComparedTensors.of(left, right));
    }

    /**
     * Compares two checkpoints whose tensors have been sorted.
     *
     * @throws CheckpointException if a side cannot be read
     */
    public DiffResult compare(ModelView left, ModelView right, ComparedTensors compared) throws IOException {
        LayerAlignment alignment = compared.alignment();
        Map<String, LogicalTensor> partners = new HashMap<>();
        List<LogicalTensor> extra = new ArrayList<>();
        for (LogicalTensor tensor : compared.right().values()) {
            Optional<String> name = compared.leftName(tensor.name()).filter(compared.left()::containsKey);
            if (name.isPresent()) {
                partners.put(name.get(), tensor);
            } else if (options.compares(tensor.name())) {
                extra.add(tensor);
            }
        }
        List<LogicalTensor> missing = compared.left().values().stream()
                .filter(tensor -> options.compares(tensor.name()) && !partners.containsKey(tensor.name()))
                .toList();
        try (OrderedWork work = new OrderedWork(options.workers());
                OrderedWork tensorWork = new OrderedWork(TENSORS)) {
            List<TensorDiff> both = new ArrayList<>();
            tensorWork.inOrder(onBothSides(compared.left(), partners, work).iterator(), both::addAll);
            List<TensorDiff> unpaired = new Unpaired(left, right).match(missing, extra, work);
            FormDiff forms = FormDiff.of(left, right, options);
            List<TensorDiff> merged =
                    forms.applyTo(ModelOrder.merge(compared.left().keySet(), both, unpaired));
            List<TensorDiff> tensors = new CopyDiff(options, comparers).applyTo(merged, work);
            List<StateDifference> state = StateDiff.of(left, right, alignment);
            List<String> notes = new ArrayList<>(alignment.note().stream().toList());
            options.trueVocabulary()
                    .ifPresent(rows ->
                            Vocabulary.uncut(rows, compared.left().values()).ifPresent(notes::add));
            return new DiffResult(
                    tensors,
                    forms.ofOthers(left, right),
                    state,
                    notes,
                    ignored(left, right, compared),
                    bytes(compared));
        }
    }

    /** Comparisons of a large tensor each, or of all small ones between two large ones, in the order of the left side. */
    private List<Callable<List<TensorDiff>>> onBothSides(
            Map<String, LogicalTensor> left, Map<String, LogicalTensor> right, OrderedWork work) {
        List<Callable<List<TensorDiff>>> comparisons = new ArrayList<>();
        List<Callable<TensorDiff>> small = new ArrayList<>();
        for (LogicalTensor tensor : left.values()) {
            LogicalTensor other = right.get(tensor.name());
            if (other == null || !options.compares(tensor.name())) {
                continue;
            }
            if (tensor.bytes() <= SMALL && other.bytes() <= SMALL) {
                small.add(() ->
                        counted(TensorPair.of(tensor, other, options, comparers).compareHere()));
            } else {
                comparisons.add(allOf(small, work));
                small = new ArrayList<>();
                comparisons.add(() -> List.of(
                        counted(TensorPair.of(tensor, other, options, comparers).compareOn(work))));
            }
        }
        comparisons.add(allOf(small, work));
        return comparisons;
    }

    private static Callable<List<TensorDiff>> allOf(List<Callable<TensorDiff>> small, OrderedWork work) {
        return () -> {
            List<TensorDiff> done = new ArrayList<>();
            work.inOrder(small.iterator(), done::add);
            return done;
        };
    }

    private TensorDiff counted(TensorDiff diff) {
        progress.accept(diff.either().bytes());
        return diff;
    }

    private List<String> ignored(ModelView left, ModelView right, ComparedTensors compared) {
        List<String> ignored = new ArrayList<>(compared.leftOut());
        int leftStates = left.extraStates().size();
        int rightStates = right.extraStates().size();
        if (leftStates + rightStates > 0 && !StateDiff.comparesModuleStates(left, right)) {
            ignored.add(leftStates + " and " + rightStates + " opaque module states (_extra_state)");
        }
        long byName = compared.left().keySet().stream()
                .filter(name -> !options.compares(name))
                .count();
        if (byName > 0) {
            ignored.add(byName + " tensors by name");
        }
        return ignored;
    }
}
