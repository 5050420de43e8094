package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** One tensor of a distributed checkpoint, divided into chunks. */
public final class DcpTensor {
    private final DcpCheckpoint checkpoint;
    private final int entry;

    DcpTensor(DcpCheckpoint checkpoint, int entry) {
        this.checkpoint = checkpoint;
        this.entry = entry;
    }

    /** The name under which the checkpoint has the tensor. */
    public String name() {
        return checkpoint.metadata().name(entry);
    }

    /** The element type as the metadata has it; empty for one that is not known. */
    public Optional<DType> dtype() {
        return Optional.ofNullable(checkpoint.metadata().dtype(entry).known());
    }

    /** PyTorch's name of the element type. */
    public String dtypeName() {
        return checkpoint.metadata().dtype(entry).name();
    }

    /**
     * Shape of the tensor that the chunks divide. Of a tensor that Megatron stored as flattened ranges this is the shape of
     * the ranges; {@link #logicalShape} is that of the tensor.
     */
    public Shape shape() {
        return checkpoint.metadata().shape(entry);
    }

    /** Shape of the tensor as the model has it. */
    public Shape logicalShape() {
        return Optional.ofNullable(checkpoint.metadata().originalShapes().get(name()))
                .orElseGet(this::shape);
    }

    /** True if the tensor is stored as ranges of flattened shards. */
    public boolean isFlattened() {
        return checkpoint.metadata().originalShapes().containsKey(name());
    }

    /** The chunks as stored, empty ones too, in the order of the metadata. */
    public List<DcpChunk> chunks() {
        int first = checkpoint.metadata().firstRow(entry);
        int count = checkpoint.metadata().rowCount(entry);
        return new AbstractList<>() {
            @Override
            public DcpChunk get(int index) {
                return new DcpChunk(checkpoint, entry, first + Objects.checkIndex(index, count));
            }

            @Override
            public int size() {
                return count;
            }
        };
    }

    /**
     * Boxes of {@link #logicalShape} and where the elements of each lie; empty chunks are left out.
     *
     * @throws CheckpointException if flattened ranges do not fit the shape they are said to come from
     */
    public List<DcpPiece> pieces() throws CheckpointException {
        if (isFlattened()) {
            return FlattenedRanges.pieces(this);
        }
        return chunks().stream()
                .filter(chunk -> !chunk.isEmpty())
                .map(DcpPiece::of)
                .toList();
    }

    /**
     * The boxes of {@link #pieces} that may hold an index of the first dimension: of a tensor of stacked layers or experts, those
     * of one.
     */
    public List<DcpPiece> piecesAt(long index) throws CheckpointException {
        if (isFlattened()) {
            return FlattenedRanges.pieces(this);
        }
        return Arrays.stream(checkpoint.rowsAt(entry, index))
                .mapToObj(row -> new DcpChunk(checkpoint, entry, row))
                .filter(chunk -> !chunk.isEmpty())
                .map(DcpPiece::of)
                .toList();
    }

    /** What is missing or doubled in the tensor's chunks; empty if they cover it exactly once. */
    public List<DcpFinding> checkCoverage() {
        return Coverage.check(this);
    }

    @Override
    public String toString() {
        return name() + " " + dtypeName() + " " + logicalShape();
    }
}
