package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A move made ready for execution: neighbours joined, targets resolved to slots, and cut into bands.
 *
 * @param number its number in the plan
 * @param tensor canonical name
 * @param shape sizes of the logical tensor
 * @param sourceType element type of the sources, if they agree; if not, each part is cast to the target's type at once
 * @param sources views of existing files
 * @param replicas views whose elements must equal those of the sources
 * @param fills elements that no source has
 * @param targets the targets, grouped by element type
 * @param bands the bands
 */
record PreparedMove(
        int number,
        String tensor,
        Shape shape,
        Optional<DType> sourceType,
        List<Piece> sources,
        List<Piece> replicas,
        List<Fill> fills,
        List<TargetGroup> targets,
        Bands bands) {

    /** Targets of one element type. */
    record TargetGroup(DType dtype, List<Target> targets) {}

    /** A target piece and the slot it lies in. */
    record Target(Piece piece, SlotTable.SlotPlace slot) {}

    /**
     * Prepares a move for bands of at most {@code bandBytes} bytes.
     *
     * @throws CheckpointException if the move contradicts itself or asks for what cannot be done
     */
    static PreparedMove of(int number, TensorMove given, SlotTable slots, int bandBytes) throws CheckpointException {
        TensorMove move = PackedElements.asBytes(given);
        List<Piece> sources = PieceUnion.of(nonEmpty(move.sources()));
        List<Piece> replicas = PieceUnion.of(nonEmpty(move.replicas()));
        List<Piece> targets = PieceUnion.of(nonEmpty(move.targets()));
        Set<DType> targetTypes = new LinkedHashSet<>();
        int widest = 1;
        for (Piece target : targets) {
            checkTarget(move.tensor(), target.data());
            targetTypes.add(target.data().dtype());
        }
        checkCovered(move, sources, targets);
        List<TargetGroup> groups = new ArrayList<>();
        for (DType dtype : targetTypes) {
            List<Target> group = new ArrayList<>();
            for (Piece target : targets) {
                if (target.data().dtype() == dtype) {
                    group.add(new Target(target, slots.of(move.tensor(), target.data())));
                }
            }
            groups.add(new TargetGroup(dtype, List.copyOf(group)));
            widest = Math.max(widest, dtype.byteSize());
        }
        Optional<DType> sourceType = commonType(sources);
        for (Piece piece : sources) {
            widest = Math.max(widest, piece.data().dtype().byteSize());
        }
        for (Piece replica : replicas) {
            if (sourceType.isEmpty() || replica.data().dtype() != sourceType.get()) {
                throw CheckpointException.of(
                        CheckpointException.Kind.INCONSISTENT,
                        move.tensor() + ", " + replica.data().source().name(),
                        "copies of the tensor differ in their element type, one is "
                                + replica.data().dtype().torchName());
            }
        }
        return new PreparedMove(
                number,
                move.tensor(),
                move.shape(),
                sourceType,
                sources,
                replicas,
                move.fills(),
                List.copyOf(groups),
                bands(move.shape(), sources, targets, bandBytes / widest));
    }

    /** What no source and no fill brings would be left-over bytes of the band before. */
    private static void checkCovered(TensorMove move, List<Piece> sources, List<Piece> targets)
            throws CheckpointException {
        for (Piece target : targets) {
            Box box = target.box();
            long missing = box.elements();
            for (Piece source : sources) {
                missing -= source.box().intersect(box).map(Box::elements).orElse(0L);
            }
            for (Fill fill : move.fills()) {
                missing -= fill.box().intersect(box).map(Box::elements).orElse(0L);
            }
            if (missing != 0) {
                throw CheckpointException.of(
                        CheckpointException.Kind.INCONSISTENT,
                        move.tensor(),
                        "of the target's elements " + box + ", " + Math.abs(missing)
                                + (missing > 0 ? " have no source" : " have two sources"));
            }
        }
    }

    private static List<Piece> nonEmpty(List<Piece> pieces) {
        return pieces.stream()
                .filter(piece -> piece.data().shape().elements() > 0)
                .toList();
    }

    private static Optional<DType> commonType(List<Piece> sources) {
        Set<DType> types = new LinkedHashSet<>();
        sources.forEach(piece -> types.add(piece.data().dtype()));
        return types.size() == 1 ? Optional.of(types.iterator().next()) : Optional.empty();
    }

    private static void checkTarget(String tensor, StoredTensor target) throws CheckpointException {
        boolean plain = target.dtype().swapUnit() == 1 || target.order() == ByteOrder.LITTLE_ENDIAN;
        boolean repeats = false;
        for (int dim = 0; dim < target.strides().length; dim++) {
            repeats |= target.strides()[dim] == 0 && target.shape().size(dim) > 1;
        }
        if (!plain || repeats || target.conjugate() || target.negative()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT,
                    tensor,
                    "a target must be little-endian, plain and injective");
        }
    }

    private static Bands bands(Shape shape, List<Piece> sources, List<Piece> targets, long elements) {
        for (List<Piece> pieces : List.of(targets, sources)) {
            for (Piece piece : pieces) {
                int innermost = innermost(piece.data());
                if (innermost >= 0 && innermost != shape.rank() - 1) {
                    return Bands.tiles(shape, innermost, elements);
                }
            }
        }
        return Bands.rows(shape, elements);
    }

    /** The dimension in which a view steps least, or the last one if that steps as little as any; -1 if there is none. */
    private static int innermost(StoredTensor view) {
        int best = -1;
        for (int dim = view.shape().rank() - 1; dim >= 0; dim--) {
            boolean steps = view.shape().size(dim) > 1 && view.strides()[dim] > 0;
            if (steps && (best < 0 || view.strides()[dim] < view.strides()[best])) {
                best = dim;
            }
        }
        return best;
    }
}
