package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.zip.CRC32;

/**
 * The sources whose recorded checksums are checked while they are moved: those of which no byte is read twice, and at least
 * half are read. What lies between the parts that are read, such as the padding of a flat buffer, is read at the end.
 *
 * <p>PyTorch records the CRC-32 of each storage and never looks at it when it loads. Adding the checksums up as the bands go
 * by costs little, and what has rotted on a disk is found before it gets a new, right checksum in the target.
 */
final class SourceChecks {
    /** Checks nothing. */
    static final SourceChecks NONE = new SourceChecks(List.of(), 0);

    private static final int BLOCK = 1 << 20;

    private final List<Checked> sources;
    private final int firstId;
    private final Map<ByteSource, Integer> ids = new IdentityHashMap<>();

    /** A source and the gaps in what is read of it: first byte and the one after the last. */
    private record Checked(ByteSource source, List<long[]> gaps) {}

    private SourceChecks(List<Checked> sources, int firstId) {
        this.sources = sources;
        this.firstId = firstId;
        for (Checked checked : sources) {
            ids.put(checked.source(), firstId + ids.size());
        }
    }

    /** The sources of these moves that can be checked, numbered from {@code firstId} on. */
    static SourceChecks of(List<PreparedMove> moves, int firstId) {
        Map<ByteSource, List<long[]>> read = new IdentityHashMap<>();
        List<ByteSource> order = new ArrayList<>();
        for (PreparedMove move : moves) {
            for (List<Piece> pieces : List.of(move.sources(), move.replicas())) {
                for (Piece piece : pieces) {
                    ByteSource source = piece.data().source();
                    if (source.recordedCrc().isPresent()) {
                        List<long[]> ranges = read.get(source);
                        if (ranges == null) {
                            ranges = new ArrayList<>();
                            read.put(source, ranges);
                            order.add(source);
                        }
                        ranges.add(range(piece.data()));
                    }
                }
            }
        }
        List<Checked> checked = new ArrayList<>();
        for (ByteSource source : order) {
            gaps(read.get(source), source.size()).ifPresent(gaps -> checked.add(new Checked(source, gaps)));
        }
        return new SourceChecks(checked, firstId);
    }

    /** First byte and the one after the last; nothing of a view whose bytes do not follow each other. */
    private static long[] range(StoredTensor view) {
        return isRowMajor(view) ? new long[] {view.offset(), view.endOffset()} : new long[] {-1, -1};
    }

    private static boolean isRowMajor(StoredTensor view) {
        long[] rowMajor = view.shape().rowMajorStrides();
        for (int dim = 0; dim < rowMajor.length; dim++) {
            if (view.shape().size(dim) > 1 && view.strides()[dim] != rowMajor[dim]) {
                return false;
            }
        }
        return true;
    }

    /** What the ranges leave out; empty if they overlap, or leave out more than half. */
    private static Optional<List<long[]>> gaps(List<long[]> ranges, long size) {
        ranges.sort(Arrays::compare);
        List<long[]> gaps = new ArrayList<>();
        long end = 0;
        long left = 0;
        for (long[] range : ranges) {
            if (range[0] < end) {
                return Optional.empty();
            }
            if (range[0] > end) {
                gaps.add(new long[] {end, range[0]});
                left += range[0] - end;
            }
            end = range[1];
        }
        if (end < size) {
            gaps.add(new long[] {end, size});
            left += size - end;
        }
        return left > size / 2 ? Optional.empty() : Optional.of(gaps);
    }

    /** Number under which the terms of a source's checksum are added up, if it is checked. */
    OptionalInt idOf(ByteSource source) {
        Integer id = ids.get(source);
        return id == null ? OptionalInt.empty() : OptionalInt.of(id);
    }

    /**
     * The names of the sources that are damaged.
     *
     * <p>A source whose sum is not as recorded is read once more, so that what this says does not rest on the sum alone.
     *
     * @throws CheckpointException {@code MALFORMED} at the first one if that is to be refused
     */
    List<String> damaged(Map<Integer, Integer> sums, ExecutionOptions.DamagedSource whenDamaged) throws IOException {
        List<String> damaged = new ArrayList<>();
        for (int i = 0; i < sources.size(); i++) {
            ByteSource source = sources.get(i).source();
            int recorded = source.recordedCrc().orElseThrow();
            int sum = sums.getOrDefault(firstId + i, 0);
            for (long[] gap : sources.get(i).gaps()) {
                sum ^= Crc32Combiner.shift(crc(source, gap[0], gap[1]), source.size() - gap[1]);
            }
            if (sum == recorded) {
                continue;
            }
            int found = crc(source, 0, source.size());
            if (found != recorded) {
                if (whenDamaged == ExecutionOptions.DamagedSource.REFUSE) {
                    throw CheckpointException.of(
                                    CheckpointException.Kind.MALFORMED,
                                    source.name(),
                                    "the data are damaged: their CRC-32 is %08x, but %08x is recorded"
                                            .formatted(found, recorded))
                            .withHint(
                                    "copy or download the file again, or pass --damaged copy to take the data as they are");
                }
                damaged.add(source.name());
            }
        }
        return damaged;
    }

    private static int crc(ByteSource source, long start, long end) throws IOException {
        CRC32 crc = new CRC32();
        ByteBuffer block = ByteBuffer.allocate((int) Math.min(BLOCK, end - start));
        for (long at = start; at < end; at += block.limit()) {
            block.clear().limit((int) Math.min(block.capacity(), end - at));
            source.read(at, block);
            crc.update(block.flip());
        }
        return (int) crc.getValue();
    }
}
