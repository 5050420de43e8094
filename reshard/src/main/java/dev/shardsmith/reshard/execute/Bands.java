package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.region.Box;
import java.util.Arrays;

/** Divides a tensor into boxes of bounded size, numbered in row-major order. */
final class Bands {
    private final long[] sizes;
    private final long[] steps;
    private final long[] counts;
    private final long count;

    private Bands(long[] sizes, long[] steps) {
        this.sizes = sizes;
        this.steps = steps;
        this.counts = new long[sizes.length];
        long product = 1;
        for (int dim = 0; dim < sizes.length; dim++) {
            counts[dim] = (sizes[dim] + steps[dim] - 1) / steps[dim];
            product = Math.multiplyExact(product, counts[dim]);
        }
        this.count = product;
    }

    /** Bands of whole rows where they fit, of at most {@code maxElements} elements: contiguous in a row-major tensor. */
    static Bands rows(Shape shape, long maxElements) {
        long[] steps = ones(shape);
        long trailing = 1;
        for (int dim = shape.rank() - 1; dim >= 0; dim--) {
            long size = Math.max(1, shape.size(dim));
            steps[dim] = Math.min(size, Math.max(1, maxElements / trailing));
            if (steps[dim] < size) {
                break;
            }
            trailing *= size;
        }
        return new Bands(shape.toArray(), steps);
    }

    /** Bands that are long in the last dimension and in {@code dim}, in which some piece is contiguous: for transposed pieces. */
    static Bands tiles(Shape shape, int dim, long maxElements) {
        int last = shape.rank() - 1;
        long[] steps = ones(shape);
        long side = Math.max(1, (long) Math.sqrt((double) maxElements));
        steps[last] = Math.min(Math.max(1, shape.size(last)), side);
        steps[dim] = Math.min(Math.max(1, shape.size(dim)), Math.max(1, maxElements / steps[last]));
        steps[last] = Math.min(Math.max(1, shape.size(last)), Math.max(1, maxElements / steps[dim]));
        return new Bands(shape.toArray(), steps);
    }

    /** How many bands there are; 0 for a tensor without elements. */
    long count() {
        return count;
    }

    /** Band number {@code index}. */
    Box box(long index) {
        long[] offset = new long[sizes.length];
        long[] size = new long[sizes.length];
        long rest = index;
        for (int dim = sizes.length - 1; dim >= 0; dim--) {
            offset[dim] = rest % counts[dim] * steps[dim];
            size[dim] = Math.min(steps[dim], sizes[dim] - offset[dim]);
            rest /= counts[dim];
        }
        return new Box(offset, size);
    }

    private static long[] ones(Shape shape) {
        long[] steps = new long[shape.rank()];
        Arrays.fill(steps, 1);
        return steps;
    }
}
