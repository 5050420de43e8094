package dev.shardsmith.reshard.region;

import dev.shardsmith.formats.Shape;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Checks that boxes fill a tensor exactly: none outside, none overlapping, nothing left out. */
public final class Coverage {
    private Coverage() {}

    /**
     * What is wrong with {@code boxes} as a division of a tensor, or nothing.
     *
     * @return a sentence that names the first box outside, the first overlapping pair, or the number of missing elements
     */
    public static Optional<String> problem(Shape shape, List<Box> boxes) {
        Box whole = Box.whole(shape);
        long covered = 0;
        List<Box> filled = new ArrayList<>();
        for (Box box : boxes) {
            if (!whole.contains(box)) {
                return Optional.of("the part " + box + " lies outside of " + shape);
            }
            if (box.elements() > 0) {
                filled.add(box);
                covered = Math.addExact(covered, box.elements());
            }
        }
        Optional<String> overlap = overlap(filled);
        if (overlap.isPresent()) {
            return overlap;
        }
        return covered == shape.elements()
                ? Optional.empty()
                : Optional.of((shape.elements() - covered) + " of " + shape.elements() + " elements of " + shape
                        + " are in no part");
    }

    private static Optional<String> overlap(List<Box> boxes) {
        if (boxes.isEmpty() || boxes.get(0).rank() == 0) {
            return boxes.size() > 1
                    ? Optional.of("the one element is there " + boxes.size() + " times")
                    : Optional.empty();
        }
        int dim = dimensionWithMostStarts(boxes);
        List<Box> sorted = new ArrayList<>(boxes);
        sorted.sort(Comparator.comparingLong(box -> box.offset()[dim]));
        List<Box> active = new ArrayList<>();
        for (Box box : sorted) {
            active.removeIf(earlier -> earlier.offset()[dim] + earlier.size()[dim] <= box.offset()[dim]);
            for (Box earlier : active) {
                if (earlier.intersect(box).isPresent()) {
                    return Optional.of("the parts " + earlier + " and " + box + " overlap");
                }
            }
            active.add(box);
        }
        return Optional.empty();
    }

    /** Sweeping along the dimension that is cut most keeps the set of boxes to compare small. */
    private static int dimensionWithMostStarts(List<Box> boxes) {
        int best = 0;
        long most = 0;
        for (int dim = 0; dim < boxes.get(0).rank(); dim++) {
            int at = dim;
            long starts =
                    boxes.stream().mapToLong(box -> box.offset()[at]).distinct().count();
            if (starts > most) {
                most = starts;
                best = dim;
            }
        }
        return best;
    }
}
