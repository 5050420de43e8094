package dev.shardsmith.reshard.region;

import dev.shardsmith.formats.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Who holds which part of a tensor.
 *
 * @param shape sizes of the tensor
 * @param axis the one dimension that is divided; empty if none is, or several are
 * @param boxes what each holder has, by its name, in the order of the boxes; neighbours are joined
 */
public record Shares(Shape shape, OptionalInt axis, Map<String, List<Box>> boxes) {

    /** Gathers what each holder has. */
    public static final class Builder {
        private final Shape shape;
        private final Map<String, List<Box>> boxes = new LinkedHashMap<>();

        /** Of a tensor of these sizes. */
        public Builder(Shape shape) {
            this.shape = shape;
        }

        /** Adds a box that a holder has; boxes that it has already are left out. */
        public Builder add(String holder, Box box) {
            List<Box> own = boxes.computeIfAbsent(holder, none -> new ArrayList<>());
            if (!own.contains(box)) {
                own.add(box);
            }
            return this;
        }

        /** The shares, holders in the order in which they came. */
        public Shares build() {
            OptionalInt axis = axis();
            Map<String, List<Box>> joined = new LinkedHashMap<>();
            boxes.forEach((holder, own) -> joined.put(holder, axis.isPresent() ? join(own, axis.getAsInt()) : own));
            return new Shares(shape, axis, joined);
        }

        private OptionalInt axis() {
            OptionalInt axis = OptionalInt.empty();
            for (int dim = 0; dim < shape.rank(); dim++) {
                int at = dim;
                boolean cut =
                        boxes.values().stream().flatMap(List::stream).anyMatch(box -> box.size()[at] != shape.size(at));
                if (cut && axis.isPresent()) {
                    return OptionalInt.empty();
                }
                axis = cut ? OptionalInt.of(dim) : axis;
            }
            return axis;
        }

        private static List<Box> join(List<Box> boxes, int axis) {
            List<Box> sorted = new ArrayList<>(boxes);
            sorted.sort(Comparator.comparingLong(box -> box.offset()[axis]));
            List<Box> joined = new ArrayList<>();
            for (Box box : sorted) {
                Box last = joined.isEmpty() ? null : joined.get(joined.size() - 1);
                if (last != null && box.offset()[axis] <= last.offset()[axis] + last.size()[axis]) {
                    long end = Math.max(last.offset()[axis] + last.size()[axis], box.offset()[axis] + box.size()[axis]);
                    long[] size = last.size().clone();
                    size[axis] = end - last.offset()[axis];
                    joined.set(joined.size() - 1, new Box(last.offset(), size));
                } else {
                    joined.add(box);
                }
            }
            return joined;
        }
    }

    /** True if every holder has the whole tensor. */
    public boolean whole() {
        return axis.isEmpty()
                && boxes.values().stream()
                        .flatMap(List::stream)
                        .allMatch(box -> Arrays.equals(box.size(), shape.toArray()));
    }

    /** True if the tensor is divided along one dimension and some holder has more of it than another. */
    public boolean uneven() {
        return axis.isPresent()
                && boxes.values().stream()
                                .mapToLong(own -> own.stream()
                                        .mapToLong(box -> box.size()[axis.getAsInt()])
                                        .sum())
                                .distinct()
                                .count()
                        > 1;
    }

    /** The holders of index {@code at} of the divided dimension. */
    public List<String> holders(long at) {
        int dim = axis.orElseThrow();
        List<String> found = new ArrayList<>();
        boxes.forEach((holder, own) -> {
            if (own.stream().anyMatch(box -> box.offset()[dim] <= at && at < box.offset()[dim] + box.size()[dim])) {
                found.add(holder);
            }
        });
        return found;
    }

    /** What a holder has of the divided dimension, as pairs of first index and index after the last. */
    public List<long[]> ranges(String holder) {
        int dim = axis.orElseThrow();
        return boxes.get(holder).stream()
                .map(box -> new long[] {box.offset()[dim], box.offset()[dim] + box.size()[dim]})
                .toList();
    }
}
