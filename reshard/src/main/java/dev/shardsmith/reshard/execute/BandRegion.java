package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.region.Box;

/**
 * A box inside a band, as stretches of the band's row-major buffer.
 *
 * <p>Positions are in elements, so one region describes buffers of every element type.
 */
final class BandRegion {
    private final long[] strides;
    private final int start;
    private final long[] size;
    private final int outer;
    private final int run;

    private BandRegion(long[] strides, int start, long[] size, int outer, int run) {
        this.strides = strides;
        this.start = start;
        this.size = size;
        this.outer = outer;
        this.run = run;
    }

    /** Does something with {@code count} elements that follow each other from element {@code at} of the band. */
    @FunctionalInterface
    interface Run {
        void accept(int at, int count) throws CheckpointException;
    }

    /** The region of {@code part}, which lies inside {@code band}. */
    static BandRegion of(Box band, Box part) {
        long[] strides = band.shape().rowMajorStrides();
        long start = 0;
        for (int dim = 0; dim < strides.length; dim++) {
            start += (part.offset()[dim] - band.offset()[dim]) * strides[dim];
        }
        int outer = strides.length;
        long run = 1;
        while (outer > 0 && strides[outer - 1] == run) {
            run *= part.size()[outer - 1];
            outer--;
        }
        return new BandRegion(strides, (int) start, part.size(), outer, (int) run);
    }

    /** Strides of the band, in elements. */
    long[] strides() {
        return strides;
    }

    /** The first element. */
    int start() {
        return start;
    }

    /** Visits every stretch, in order. */
    void forEachRun(Run action) throws CheckpointException {
        visit(0, start, action);
    }

    private void visit(int dim, int at, Run action) throws CheckpointException {
        if (dim == outer) {
            action.accept(at, run);
            return;
        }
        for (long i = 0; i < size[dim]; i++) {
            visit(dim + 1, (int) (at + i * strides[dim]), action);
        }
    }
}
