package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.nio.ByteBuffer;
import java.util.Locale;

/** Compares a replica with the band that was assembled from the sources, bit by bit. */
final class Replicas {
    private final PreparedMove move;
    private final Piece replica;
    private final ByteBuffer band;
    private final ByteBuffer other;
    private final DType dtype;
    private long different;
    private double largest;

    private Replicas(PreparedMove move, Piece replica, ByteBuffer band, ByteBuffer other) {
        this.move = move;
        this.replica = replica;
        this.band = band;
        this.other = other;
        this.dtype = replica.data().dtype();
    }

    /**
     * Counts the elements of a region in which two bands differ.
     *
     * @throws CheckpointException if there are any and {@code whenDifferent} is to refuse
     */
    static long compare(
            PreparedMove move,
            Piece replica,
            Box part,
            BandRegion region,
            ByteBuffer band,
            ByteBuffer other,
            ExecutionOptions.ReplicaMismatch whenDifferent)
            throws CheckpointException {
        Replicas comparison = new Replicas(move, replica, band, other);
        region.forEachRun(comparison::compareRun);
        if (comparison.different > 0 && whenDifferent == ExecutionOptions.ReplicaMismatch.REFUSE) {
            throw comparison.mismatch(part);
        }
        return comparison.different;
    }

    private void compareRun(int at, int count) {
        int bytes = dtype.byteSize();
        int from = at * bytes;
        int length = count * bytes;
        if (band.slice(from, length).mismatch(other.slice(from, length)) < 0) {
            return;
        }
        FloatDecoder decoder = dtype.kind() == DType.Kind.FLOAT ? FloatDecoder.of(dtype) : null;
        for (int i = from; i < from + length; i += bytes) {
            if (band.slice(i, bytes).mismatch(other.slice(i, bytes)) >= 0) {
                different++;
                if (decoder != null) {
                    double difference = Math.abs(decoder.decode(band, i) - decoder.decode(other, i));
                    largest = Double.isNaN(difference) ? largest : Math.max(largest, difference);
                }
            }
        }
    }

    private CheckpointException mismatch(Box part) {
        String source = "?";
        for (Piece piece : move.sources()) {
            if (piece.box().intersect(part).isPresent()) {
                source = piece.data().source().name();
                break;
            }
        }
        String size = dtype.kind() == DType.Kind.FLOAT ? String.format(Locale.ROOT, " (by %.3g at most)", largest) : "";
        return CheckpointException.of(
                        CheckpointException.Kind.INCONSISTENT,
                        move.tensor() + " " + part + ", " + source + " and "
                                + replica.data().source().name(),
                        "copies of the tensor that must be equal differ in " + different + " of " + part.elements()
                                + " elements compared" + size)
                .withHint("the ranks have drifted apart; shardsmith validate lists all such tensors");
    }
}
