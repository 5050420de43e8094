package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Reads bands from source pieces into row-major buffers, their byte order, flags and element type settled. */
final class BandAssembler {
    private final Buffers buffers;
    private final StridedReader reader;

    BandAssembler(Buffers buffers, SourceChecks checks) {
        this.buffers = buffers;
        this.reader = new StridedReader(buffers, checks);
    }

    /** Bytes read from the sources so far. */
    long bytesRead() {
        return reader.bytesRead();
    }

    /** The buffer of {@code band} in which every element that a source piece has is in place, as {@code type}. */
    ByteBuffer assemble(PreparedMove move, Box band, DType type, WorkResult result) throws IOException {
        for (Piece source : move.sources()) {
            Optional<Box> part = source.box().intersect(band);
            if (part.isPresent()) {
                read(move, source.view(part.get()), BandRegion.of(band, part.get()), type, buffers.band(), result);
            }
        }
        return buffers.band();
    }

    /** The buffer of {@code band} in which the elements of {@code part} are those of a replica. */
    ByteBuffer replica(PreparedMove move, Piece replica, Box band, Box part, WorkResult result) throws IOException {
        DType stored = replica.data().dtype();
        read(move, replica.view(part), BandRegion.of(band, part), stored, buffers.other(), result);
        return buffers.other();
    }

    /** The buffer of {@code band} with the source elements of {@code bytes} as another type. */
    ByteBuffer cast(PreparedMove move, Box band, ByteBuffer bytes, DType from, DType to, WorkResult result)
            throws IOException {
        for (Piece source : move.sources()) {
            Optional<Box> part = source.box().intersect(band);
            if (part.isPresent()) {
                cast(move, BandRegion.of(band, part.get()), from, bytes, to, buffers.cast(), result);
            }
        }
        return buffers.cast();
    }

    private void read(
            PreparedMove move, StoredTensor view, BandRegion region, DType type, ByteBuffer target, WorkResult result)
            throws IOException {
        DType stored = view.dtype();
        ByteBuffer bytes = stored == type ? target : buffers.other();
        reader.read(view, bytes, region.start() * stored.byteSize(), region.strides(), result);
        if (!ElementBytes.plain(view)) {
            region.forEachRun(
                    (at, count) -> ElementBytes.settle(move.tensor(), view, bytes, at * stored.byteSize(), count));
        }
        if (stored != type) {
            cast(move, region, stored, bytes, type, target, result);
        }
    }

    private static void cast(
            PreparedMove move,
            BandRegion region,
            DType from,
            ByteBuffer source,
            DType to,
            ByteBuffer target,
            WorkResult result)
            throws IOException {
        ElementCast cast = ElementCast.of(move.tensor(), from, to);
        region.forEachRun((at, count) -> result.addOverflows(
                move.number(), cast.cast(source, at * from.byteSize(), target, at * to.byteSize(), count)));
    }
}
