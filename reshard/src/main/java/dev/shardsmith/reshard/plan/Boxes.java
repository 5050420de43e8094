package dev.shardsmith.reshard.plan;

import dev.shardsmith.reshard.region.Box;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Set operations on boxes. */
final class Boxes {
    private Boxes() {}

    /** What is left of the boxes without the elements of another; the result does not overlap if the boxes do not. */
    static List<Box> subtract(List<Box> boxes, Box other) {
        List<Box> rest = new ArrayList<>();
        for (Box box : boxes) {
            Optional<Box> common = box.rank() == 0 ? Optional.of(other) : box.intersect(other);
            if (common.isEmpty()) {
                rest.add(box);
            } else {
                addRest(box, common.get(), rest);
            }
        }
        return rest;
    }

    /** Peels off, dimension by dimension, what lies before and behind the common part. */
    private static void addRest(Box box, Box common, List<Box> rest) {
        long[] offset = box.offset().clone();
        long[] size = box.size().clone();
        for (int dim = 0; dim < offset.length; dim++) {
            long before = common.offset()[dim] - offset[dim];
            long behind = offset[dim] + size[dim] - common.offset()[dim] - common.size()[dim];
            if (before > 0) {
                long[] part = size.clone();
                part[dim] = before;
                rest.add(new Box(offset.clone(), part));
            }
            if (behind > 0) {
                long[] at = offset.clone();
                long[] part = size.clone();
                at[dim] = common.offset()[dim] + common.size()[dim];
                part[dim] = behind;
                rest.add(new Box(at, part));
            }
            offset[dim] = common.offset()[dim];
            size[dim] = common.size()[dim];
        }
    }
}
