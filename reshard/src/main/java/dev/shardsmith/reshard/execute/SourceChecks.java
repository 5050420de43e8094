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
import java.util.OptionalInt;
import java.util.zip.CRC32;

/**
 * The sources whose recorded checksums are checked while they are moved: those of which every byte is read, and once.
 *
 * <p>PyTorch records the CRC-32 of each storage and never looks at it when it loads. Adding the checksums up as the bands go
 * by costs little, and what has rotted on a disk is found before it gets a new, right checksum in the target.
 */
final class SourceChecks {
    /** Checks nothing. */
    static final SourceChecks NONE = new SourceChecks(List.of(), 0);

    private static final int BLOCK = 1 << 20;

    private final List<ByteSource> sources;
    private final int firstId;
    private final Map<ByteSource, Integer> ids = new IdentityHashMap<>();

    private SourceChecks(List<ByteSource> sources, int firstId) {
        this.sources = sources;
        this.firstId = firstId;
        for (ByteSource source : sources) {
            ids.put(source, firstId + ids.size());
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
        order.removeIf(source -> !fill(read.get(source), source.size()));
        return new SourceChecks(order, firstId);
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

    private static boolean fill(List<long[]> ranges, long size) {
        ranges.sort(Arrays::compare);
        long end = 0;
        for (long[] range : ranges) {
            if (range[0] != end) {
                return false;
            }
            end = range[1];
        }
        return end == size;
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
            ByteSource source = sources.get(i);
            int recorded = source.recordedCrc().orElseThrow();
            if (sums.getOrDefault(firstId + i, 0) == recorded) {
                continue;
            }
            int found = crc(source);
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

    private static int crc(ByteSource source) throws IOException {
        CRC32 crc = new CRC32();
        ByteBuffer block = ByteBuffer.allocate((int) Math.min(BLOCK, source.size()));
        for (long at = 0; at < source.size(); at += block.limit()) {
            block.clear().limit((int) Math.min(block.capacity(), source.size() - at));
            source.read(at, block);
            crc.update(block.flip());
        }
        return (int) crc.getValue();
    }
}
