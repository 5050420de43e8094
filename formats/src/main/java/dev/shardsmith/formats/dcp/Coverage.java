package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpFinding.Code;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/** Finds parts of a tensor that no chunk covers, or that more than one covers. */
final class Coverage {
    /** Findings of one sort are told one by one up to here. */
    private static final int MAX_TOLD = 8;

    /** Comparisons of two chunks that are made before giving up on an irregular division; a second or so. */
    private static final long MAX_COMPARISONS = 100_000_000;

    /** Boxes that a missing part may fall into before only its size is told. */
    private static final int MAX_GAPS = 4096;

    private record Box(long[] offsets, long[] sizes) {
        boolean overlaps(Box other) {
            for (int dim = 0; dim < offsets.length; dim++) {
                if (offsets[dim] >= other.end(dim) || other.offsets[dim] >= end(dim)) {
                    return false;
                }
            }
            return true;
        }

        long end(int dim) {
            return offsets[dim] + sizes[dim];
        }

        long volume() {
            return Shape.of(sizes).elements();
        }

        @Override
        public String toString() {
            List<String> ranges = new ArrayList<>();
            for (int dim = 0; dim < offsets.length; dim++) {
                ranges.add(offsets[dim] + ":" + end(dim));
            }
            return "[" + String.join(", ", ranges) + "]";
        }
    }

    private final String name;
    private final Shape shape;
    private final List<Box> boxes = new ArrayList<>();
    private final List<DcpFinding> findings = new ArrayList<>();

    private Coverage(DcpTensor tensor) {
        this.name = tensor.name();
        this.shape = tensor.shape();
        for (DcpChunk chunk : tensor.chunks()) {
            if (!chunk.isEmpty()) {
                boxes.add(new Box(chunk.offsets(), chunk.sizes()));
            }
        }
    }

    static List<DcpFinding> check(DcpTensor tensor) {
        Coverage coverage = new Coverage(tensor);
        coverage.findOverlaps();
        coverage.findGaps();
        return coverage.findings;
    }

    private void findOverlaps() {
        if (boxes.size() < 2 || isGrid()) {
            return;
        }
        int dim = sweepDimension();
        boxes.sort(Comparator.comparingLong(box -> box.offsets()[dim]));
        List<Box> active = new ArrayList<>();
        long comparisons = 0;
        int told = 0;
        for (Box box : boxes) {
            active.removeIf(earlier -> earlier.end(dim) <= box.offsets()[dim]);
            for (Box earlier : active) {
                if (box.overlaps(earlier) && told++ < MAX_TOLD) {
                    findings.add(new DcpFinding(
                            Code.OVERLAPPING_CHUNKS,
                            name,
                            "chunks " + earlier + " and " + box + " of " + name + " overlap"));
                }
            }
            comparisons += active.size();
            active.add(box);
            if (comparisons > MAX_COMPARISONS) {
                findings.add(new DcpFinding(
                        Code.OVERLAPPING_CHUNKS,
                        name,
                        name + " is divided in " + boxes.size() + " irregular chunks; not all could be compared"));
                return;
            }
        }
    }

    /** True if every chunk is one cell of a grid and no cell has two: then none overlap. */
    private boolean isGrid() {
        for (int dim = 0; dim < shape.rank(); dim++) {
            TreeMap<Long, Long> cells = new TreeMap<>();
            for (Box box : boxes) {
                Long end = cells.putIfAbsent(box.offsets()[dim], box.end(dim));
                if (end != null && end != box.end(dim)) {
                    return false;
                }
            }
            long reached = 0;
            for (var cell : cells.entrySet()) {
                if (cell.getKey() < reached) {
                    return false;
                }
                reached = cell.getValue();
            }
        }
        Set<List<Long>> seen = new HashSet<>();
        for (Box box : boxes) {
            if (!seen.add(Arrays.stream(box.offsets()).boxed().toList())) {
                return false;
            }
        }
        return true;
    }

    /** The dimension along which the chunks begin at most places. */
    private int sweepDimension() {
        int best = 0;
        int most = -1;
        for (int dim = 0; dim < shape.rank(); dim++) {
            Set<Long> starts = new HashSet<>();
            for (Box box : boxes) {
                starts.add(box.offsets()[dim]);
            }
            if (starts.size() > most) {
                most = starts.size();
                best = dim;
            }
        }
        return best;
    }

    private void findGaps() {
        // Volumes of boxes inside the tensor; the sum of many overlapping ones may still overflow.
        long covered = 0;
        for (Box box : boxes) {
            covered = covered > Long.MAX_VALUE - box.volume() ? Long.MAX_VALUE : covered + box.volume();
        }
        if (covered == shape.elements() && findings.isEmpty()) {
            return;
        }
        List<Box> gaps = new ArrayList<>();
        if (shape.elements() > 0) {
            gaps.add(new Box(new long[shape.rank()], shape.toArray()));
        }
        long work = 0;
        for (Box box : boxes) {
            work += gaps.size();
            gaps = without(gaps, box);
            if (gaps.size() > MAX_GAPS || work > MAX_COMPARISONS) {
                findings.add(new DcpFinding(
                        Code.MISSING_REGION,
                        name,
                        "the chunks of " + name + " have " + covered + " of " + shape.elements() + " elements"));
                return;
            }
        }
        for (Box gap : gaps.subList(0, Math.min(gaps.size(), MAX_TOLD))) {
            findings.add(new DcpFinding(Code.MISSING_REGION, name, "no chunk of " + name + " covers " + gap));
        }
        if (gaps.size() > MAX_TOLD) {
            findings.add(new DcpFinding(
                    Code.MISSING_REGION, name, "and " + (gaps.size() - MAX_TOLD) + " more parts of " + name));
        }
    }

    /** What is left of the gaps outside a box. */
    private static List<Box> without(List<Box> gaps, Box box) {
        List<Box> left = new ArrayList<>();
        for (Box gap : gaps) {
            if (!gap.overlaps(box)) {
                left.add(gap);
                continue;
            }
            long[] offsets = gap.offsets().clone();
            long[] sizes = gap.sizes().clone();
            for (int dim = 0; dim < offsets.length; dim++) {
                long begin = Math.max(offsets[dim], box.offsets()[dim]);
                long end = Math.min(offsets[dim] + sizes[dim], box.end(dim));
                if (begin > offsets[dim]) {
                    left.add(part(offsets, sizes, dim, offsets[dim], begin));
                }
                if (end < offsets[dim] + sizes[dim]) {
                    left.add(part(offsets, sizes, dim, end, offsets[dim] + sizes[dim]));
                }
                offsets[dim] = begin;
                sizes[dim] = end - begin;
            }
        }
        return left;
    }

    private static Box part(long[] offsets, long[] sizes, int dim, long begin, long end) {
        long[] partOffsets = offsets.clone();
        long[] partSizes = sizes.clone();
        partOffsets[dim] = begin;
        partSizes[dim] = end - begin;
        return new Box(partOffsets, partSizes);
    }
}
