package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Coverage;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Joins a source's pieces with a target's places, and proves that nothing is lost, made up or written twice.
 *
 * <p>The proof does not trust the layout's writer: every slot of every file has to be filled to the last byte, every target place
 * has to have exactly one source, and every source element has to reach a target or be dropped by name.
 */
public final class Planner {
    private final Map<String, LogicalTensor> source;
    private final TargetModel model;
    private final TargetLayout layout;
    private final Map<String, Long> slotBytes = new LinkedHashMap<>();
    private final List<TensorMove> moves = new ArrayList<>();
    private long sourceElements;
    private long usedElements;
    private long targetElements;
    private long copied;
    private long cast;
    private long filled;

    private Planner(Map<String, LogicalTensor> source, TargetModel model, TargetLayout layout) {
        this.source = source;
        this.model = model;
        this.layout = layout;
    }

    /**
     * Makes the plan.
     *
     * @throws CheckpointException of kind INCONSISTENT if the proof fails
     */
    public static Plan plan(ModelView source, TargetModel model, TargetLayout layout) throws IOException {
        return plan(source.tensors(), model, layout);
    }

    /**
     * Makes the plan of tensors that are more than those of the model.
     *
     * @param source everything that has to reach the target or be dropped by name
     * @throws CheckpointException of kind INCONSISTENT if the proof fails
     */
    public static Plan plan(Map<String, LogicalTensor> source, TargetModel model, TargetLayout layout)
            throws IOException {
        return new Planner(source, model, layout).plan();
    }

    private Plan plan() throws IOException {
        for (FileImage file : layout.files()) {
            for (FileImage.Slot slot : file.slots()) {
                slotBytes.put(file.path() + "!" + slot.key(), slot.length());
            }
        }
        for (LogicalTensor tensor : source.values()) {
            sourceElements = Math.addExact(sourceElements, tensor.shape().elements());
        }
        Map<String, Set<Box>> reached = new LinkedHashMap<>();
        for (TargetTensor target : model.tensors().values()) {
            move(target, reached);
        }
        for (Map.Entry<String, Set<Box>> boxes : reached.entrySet()) {
            usedElements += union(boxes.getKey(), new ArrayList<>(boxes.getValue()));
        }
        layout.states().forEach((name, tensors) -> tensors.forEach(tensor -> moveState(name, tensor)));
        List<Dropped> dropped = new ArrayList<>(model.dropped());
        dropped.addAll(layout.dropped());
        List<String> notes = new ArrayList<>(model.notes());
        layout.notes().stream().filter(note -> !notes.contains(note)).forEach(notes::add);
        long droppedElements = dropped.stream().mapToLong(Dropped::elements).sum();
        Ledger ledger = new Ledger(sourceElements, usedElements, droppedElements, targetElements, copied, cast, filled);
        check(ledger);
        return new Plan(layout.files(), moves, ledger, dropped, notes, layout.singleFile());
    }

    private void move(TargetTensor target, Map<String, Set<Box>> reached) throws IOException {
        LogicalTensor from = source.get(target.source());
        List<Piece> places = layout.pieces().getOrDefault(target.name(), List.of());
        if (from == null || places.isEmpty()) {
            throw bug(target.name(), from == null ? "it is not in the source" : "the target has no place for it");
        }
        requireWhole(from);
        List<Fill> fills = model.fills().getOrDefault(target.name(), List.of());
        Box sourceBox = copied(from.shape(), fills);
        for (Piece place : places) {
            Box box = place.box();
            long elements = box.elements();
            Optional<Box> fromSource = elements == 0 ? Optional.empty() : box.intersect(sourceBox);
            long sourced = fromSource.map(Box::elements).orElse(0L);
            long made = 0;
            for (Fill fill : fills) {
                made += elements == 0
                        ? 0
                        : box.intersect(fill.box()).map(Box::elements).orElse(0L);
            }
            if (sourced + made != elements || !Box.whole(target.shape()).contains(box)) {
                throw bug(target.name(), "its part " + box + " has no source");
            }
            fromSource.ifPresent(reachedBox -> reached.merge(target.source(), Set.of(reachedBox), Planner::joined));
            if (place.data().dtype() == from.dtype()) {
                copied += sourced;
            } else {
                cast += sourced;
            }
            filled += made;
            targetElements += elements;
            fillSlot(place.data());
        }
        moves.add(new TensorMove(
                target.name(),
                target.shape(),
                cut(from.pieces(), from.shape(), sourceBox),
                fills,
                places,
                cut(from.replicas(), from.shape(), sourceBox)));
    }

    /** Most tensors are reached by one box, which takes a set of one. */
    private static Set<Box> joined(Set<Box> known, Set<Box> further) {
        if (known.containsAll(further)) {
            return known;
        }
        Set<Box> both = known.size() == 1 ? new LinkedHashSet<>(known) : known;
        both.addAll(further);
        return both;
    }

    /** The elements of the source that the target takes; fills take the place of rows that it does not. */
    private static Box copied(Shape source, List<Fill> fills) {
        Box whole = Box.whole(source);
        long rows = fills.stream()
                .mapToLong(fill -> fill.box().offset()[0])
                .min()
                .orElse(source.rank() == 0 ? 0 : source.size(0));
        return source.rank() == 0 ? whole : Box.slice(source, 0, 0, Math.min(rows, source.size(0)));
    }

    /** The parts of pieces that lie in a box; the pieces themselves if it is the whole tensor. */
    private static List<Piece> cut(List<Piece> pieces, Shape shape, Box box) {
        if (box.equals(Box.whole(shape))) {
            return pieces;
        }
        List<Piece> parts = new ArrayList<>();
        for (Piece piece : pieces) {
            piece.box()
                    .intersect(box)
                    .ifPresent(part -> parts.add(new Piece(part.offset().clone(), piece.view(part))));
        }
        return parts;
    }

    /** A chunk that is missing in a distributed checkpoint must not count as a source. */
    private static void requireWhole(LogicalTensor tensor) throws IOException {
        List<Box> boxes = tensor.pieces().stream().map(Piece::box).toList();
        Optional<String> problem = Coverage.problem(tensor.shape(), boxes);
        if (problem.isPresent()) {
            throw CheckpointException.of(
                    Kind.INCOMPLETE, tensor.name(), "the source does not hold it exactly once: " + problem.get());
        }
    }

    private void moveState(String name, TargetLayout.StateTensor tensor) {
        Shape shape = tensor.source().shape();
        fillSlot(tensor.target());
        moves.add(new TensorMove(
                name,
                shape,
                List.of(Piece.whole(tensor.source())),
                List.of(),
                List.of(Piece.whole(tensor.target())),
                List.of()));
    }

    private void fillSlot(StoredTensor place) {
        slotBytes.merge(place.source().name(), -place.bytes(), Long::sum);
    }

    /** Elements of the source in any of the boxes; equal boxes count once, others must not overlap. */
    private long union(String name, List<Box> boxes) throws CheckpointException {
        Shape shape = source.get(name).shape();
        long elements = 0;
        for (Box box : boxes) {
            elements += box.elements();
        }
        if (elements > shape.elements() || Coverage.problem(shape, boxes).isPresent()) {
            return distinctElements(shape, boxes);
        }
        return elements;
    }

    /** Counts by cutting each box with those before it; needed where replicas of a tensor are cut differently. */
    private static long distinctElements(Shape shape, List<Box> boxes) {
        for (Box box : boxes) {
            if (box.equals(Box.whole(shape))) {
                return shape.elements();
            }
        }
        List<Box> parts = new ArrayList<>();
        for (Box box : boxes) {
            List<Box> rest = List.of(box);
            for (Box part : parts) {
                rest = Boxes.subtract(rest, part);
            }
            parts.addAll(rest);
        }
        return parts.stream().mapToLong(Box::elements).sum();
    }

    private void check(Ledger ledger) throws CheckpointException {
        for (Map.Entry<String, Long> slot : slotBytes.entrySet()) {
            if (slot.getValue() != 0) {
                throw bug(
                        slot.getKey(),
                        slot.getValue() > 0
                                ? slot.getValue() + " of its bytes have no source"
                                : (-slot.getValue()) + " bytes too many would be written to it");
            }
        }
        if (!ledger.balanced()) {
            List<String> lost = new ArrayList<>();
            Set<String> used = new LinkedHashSet<>();
            model.tensors().values().forEach(tensor -> used.add(tensor.source()));
            for (String name : source.keySet()) {
                if (!used.contains(name)) {
                    lost.add(name);
                }
            }
            throw bug(
                    lost.isEmpty() ? "" : String.join(", ", lost),
                    "the ledger does not balance: of " + ledger.sourceElements() + " source elements "
                            + ledger.usedElements() + " are used and " + ledger.droppedElements()
                            + " dropped; of " + ledger.targetElements() + " target elements "
                            + ledger.sourcedElements() + " have a source");
        }
    }

    private static CheckpointException bug(String where, String problem) {
        return CheckpointException.of(
                        Kind.INCONSISTENT, where, "the plan is not complete, nothing was written: " + problem)
                .withHint("please report this with the output of 'shardsmith inspect --tensors' on the source");
    }
}
