package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.diff.TensorDiff.Status;
import dev.shardsmith.verify.digest.BlockReader;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.TensorDigest;
import dev.shardsmith.verify.digest.TensorReading;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Explains tensors that have no partner of the same name: another name, or a tie.
 *
 * <p>Only tensors whose type and shape occur on both sides are read at all.
 */
final class Unpaired {
    private final ModelView left;
    private final ModelView right;

    Unpaired(ModelView left, ModelView right) {
        this.left = left;
        this.right = right;
    }

    private record Likeness(DType dtype, Shape shape) {
        static Likeness of(LogicalTensor tensor) {
            return new Likeness(tensor.dtype(), tensor.shape());
        }
    }

    List<TensorDiff> match(List<LogicalTensor> missing, List<LogicalTensor> extra, OrderedWork work)
            throws IOException {
        Map<LogicalTensor, String> digests = digests(missing, extra, work);
        Map<String, Deque<LogicalTensor>> byDigest = new HashMap<>();
        for (LogicalTensor tensor : extra) {
            Optional.ofNullable(digests.get(tensor))
                    .ifPresent(digest -> byDigest.computeIfAbsent(digest, none -> new ArrayDeque<>())
                            .add(tensor));
        }
        List<TensorDiff> found = new ArrayList<>();
        Set<String> taken = new HashSet<>();
        for (LogicalTensor tensor : missing) {
            Deque<LogicalTensor> partners = byDigest.getOrDefault(digests.getOrDefault(tensor, ""), new ArrayDeque<>());
            Optional<LogicalTensor> partner = Optional.ofNullable(partners.poll());
            partner.ifPresent(other -> taken.add(other.name()));
            if (partner.isPresent()) {
                found.add(diff(tensor.name(), Status.RENAMED, Optional.of(tensor), partner, ""));
            } else if (isTied(tensor, left, right)) {
                found.add(diff(tensor.name(), Status.SAME, Optional.of(tensor), Optional.empty(), Ties.NOTE));
            } else {
                found.add(diff(tensor.name(), Status.MISSING, Optional.of(tensor), Optional.empty(), ""));
            }
        }
        for (LogicalTensor tensor : extra) {
            if (taken.contains(tensor.name())) {
                continue;
            }
            Status status = isTied(tensor, right, left) ? Status.SAME : Status.EXTRA;
            String note = status == Status.SAME ? Ties.NOTE : "";
            found.add(diff(tensor.name(), status, Optional.empty(), Optional.of(tensor), note));
        }
        return found;
    }

    private static TensorDiff diff(
            String name, Status status, Optional<LogicalTensor> left, Optional<LogicalTensor> right, String note) {
        return new TensorDiff(name, status, left, right, Optional.empty(), note);
    }

    /** True if the side without the tensor ties it to its embedding, and the side with it has the embedding's values there. */
    private static boolean isTied(LogicalTensor tensor, ModelView with, ModelView without) throws IOException {
        if (!Vocabulary.isOutput(tensor.name()) || !Ties.areDeclared(without)) {
            return false;
        }
        Optional<LogicalTensor> embedding = with.tensors().values().stream()
                .filter(other -> Vocabulary.isInput(other.name()))
                .filter(other -> Likeness.of(other).equals(Likeness.of(tensor)))
                .findFirst();
        return embedding.isPresent()
                && new PairComparer(
                                TensorReading.of(tensor),
                                TensorReading.of(embedding.get()),
                                new Comparers(Tolerance.EXACT))
                        .here()
                        .isEmpty();
    }

    /** Digests, with type and shape in front, of the tensors that can have a partner. */
    private static Map<LogicalTensor, String> digests(
            List<LogicalTensor> missing, List<LogicalTensor> extra, OrderedWork work) throws IOException {
        Set<Likeness> onLeft = missing.stream().map(Likeness::of).collect(Collectors.toSet());
        Set<Likeness> onRight = extra.stream().map(Likeness::of).collect(Collectors.toSet());
        List<LogicalTensor> candidates = Stream.concat(missing.stream(), extra.stream())
                .filter(tensor -> onLeft.contains(Likeness.of(tensor)) && onRight.contains(Likeness.of(tensor)))
                .toList();
        // Both sides may use a name, for different parts of the model.
        Map<LogicalTensor, String> digests = new IdentityHashMap<>();
        List<Callable<String>> tasks = new ArrayList<>();
        for (LogicalTensor tensor : candidates) {
            TensorReading reading = TensorReading.of(tensor);
            tasks.add(() -> Likeness.of(tensor)
                    + TensorDigest.of(reading, BlockReader.ofThisThread()).sha256Hex());
        }
        work.inOrder(tasks.iterator(), digest -> digests.put(candidates.get(digests.size()), digest));
        return digests;
    }
}
