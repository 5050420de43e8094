package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/** Moves bands: what one worker does, with its own buffers. */
final class BandMover {
    private final BandAssembler assembler;
    private final StridedWriter writer;
    private final FillRows fillRows;
    private final ExecutionOptions.ReplicaMismatch whenDifferent;

    BandMover(
            Buffers buffers,
            SourceChecks checks,
            BandSink sink,
            FillRows fillRows,
            ExecutionOptions.ReplicaMismatch whenDifferent) {
        this.assembler = new BandAssembler(buffers, checks);
        this.writer = new StridedWriter(buffers, sink);
        this.fillRows = fillRows;
        this.whenDifferent = whenDifferent;
    }

    /** Bytes read from the sources so far. */
    long bytesRead() {
        return assembler.bytesRead();
    }

    /** Moves one band of a move. */
    void move(PreparedMove move, Box band, WorkResult result) throws IOException {
        DType assembledAs = null;
        ByteBuffer assembled = null;
        for (PreparedMove.TargetGroup group : move.targets()) {
            DType type = move.sourceType().orElse(group.dtype());
            if (assembledAs != type) {
                assembled = assembler.assemble(move, band, type, result);
                assembledAs = type;
                compareReplicas(move, band, assembled, result);
            }
            ByteBuffer bytes = type == group.dtype()
                    ? assembled
                    : assembler.cast(move, band, assembled, type, group.dtype(), result);
            fill(move, band, group.dtype(), bytes);
            write(group, band, bytes, result);
        }
    }

    private void compareReplicas(PreparedMove move, Box band, ByteBuffer assembled, WorkResult result)
            throws IOException {
        for (Piece replica : move.replicas()) {
            Optional<Box> part = replica.box().intersect(band);
            if (part.isPresent()) {
                ByteBuffer other = assembler.replica(move, replica, band, part.get(), result);
                BandRegion region = BandRegion.of(band, part.get());
                long different = Replicas.compare(move, replica, part.get(), region, assembled, other, whenDifferent);
                result.addMismatches(move.number(), different);
            }
        }
    }

    private void fill(PreparedMove move, Box band, DType dtype, ByteBuffer bytes) throws IOException {
        for (Fill fill : move.fills()) {
            Optional<Box> part = fill.box().intersect(band);
            if (part.isPresent()) {
                fillRows.put(move, fill, part.get(), BandRegion.of(band, part.get()), dtype, bytes);
            }
        }
    }

    private void write(PreparedMove.TargetGroup group, Box band, ByteBuffer bytes, WorkResult result)
            throws IOException {
        for (PreparedMove.Target target : group.targets()) {
            Optional<Box> part = target.piece().box().intersect(band);
            if (part.isPresent()) {
                BandRegion region = BandRegion.of(band, part.get());
                int start = region.start() * group.dtype().byteSize();
                writer.write(target.piece().view(part.get()), target.slot(), bytes, start, region.strides(), result);
            }
        }
    }
}
