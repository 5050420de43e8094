package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The blocks of one logical tensor, ready to be read.
 *
 * <p>Types below one byte an element are read as the bytes that hold them; such a tensor has to lie in one piece.
 */
public final class TensorReading {
    private final String name;
    private final DType dtype;
    private final Shape shape;
    private final List<Piece> pieces;
    private final BlockGrid grid;

    private TensorReading(String name, DType dtype, Shape shape, List<Piece> pieces) {
        this(name, dtype, shape, pieces, BlockGrid.of(shape, dtype));
    }

    private TensorReading(String name, DType dtype, Shape shape, List<Piece> pieces, BlockGrid grid) {
        this.name = name;
        this.dtype = dtype;
        this.shape = shape;
        this.pieces = pieces;
        this.grid = grid;
    }

    /**
     * The blocks of a tensor.
     *
     * @throws CheckpointException if its elements are below one byte and do not lie one after the other
     */
    public static TensorReading of(LogicalTensor tensor) throws IOException {
        return of(tensor.name(), tensor.dtype(), tensor.shape(), tensor.pieces());
    }

    /** The blocks of a tensor that one view holds. */
    public static TensorReading of(String name, StoredTensor data) throws CheckpointException {
        return of(name, data.dtype(), data.shape(), List.of(Piece.whole(data)));
    }

    private static TensorReading of(String name, DType dtype, Shape shape, List<Piece> pieces)
            throws CheckpointException {
        if (dtype.byteAligned()) {
            return new TensorReading(name, dtype, shape, pieces);
        }
        if (pieces.size() != 1 || !pieces.get(0).data().isRowMajor()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED,
                    name,
                    "elements of " + dtype.torchName() + " can be read only where they lie one after the other");
        }
        StoredTensor packed = pieces.get(0).data();
        StoredTensor bytes =
                StoredTensor.contiguous(name, DType.U8, Shape.of(packed.bytes()), packed.source(), packed.offset());
        return new TensorReading(name, DType.U8, bytes.shape(), List.of(Piece.whole(bytes)));
    }

    /** The same tensor without the rows from {@code rows} on. */
    public TensorReading firstRows(long rows) {
        return new TensorReading(name, dtype, shape.with(0, rows), pieces);
    }

    /** The same tensor, cut where another one of the same shape is: blocks of the same number hold the same elements. */
    public TensorReading cutAs(TensorReading other) {
        if (!shape.equals(other.shape)) {
            throw new IllegalArgumentException(shape + " cut as " + other.shape);
        }
        return new TensorReading(name, dtype, shape, pieces, other.grid);
    }

    /** The tensor's name. */
    public String name() {
        return name;
    }

    /** The type as it is read: bytes stand for elements below one byte. */
    public DType dtype() {
        return dtype;
    }

    /** The shape as it is read. */
    public Shape shape() {
        return shape;
    }

    /** How the tensor is cut. */
    public BlockGrid grid() {
        return grid;
    }

    /** The reader's buffer of this number, with room for each of the blocks. */
    public ByteBuffer buffer(BlockReader reader, int slot) {
        return reader.buffer(slot, grid.blockBytes(dtype));
    }

    /** Reads a block into a buffer of {@link #buffer}'s kind; its limit is then the block's end. */
    public void read(BlockReader reader, long block, ByteBuffer target) throws IOException {
        Box box = grid.box(block);
        try {
            reader.read(pieces, box, dtype, target);
        } catch (CheckpointException e) {
            if (!e.where().isEmpty()) {
                throw e;
            }
            throw CheckpointException.of(e.kind(), name, e.problem());
        }
    }
}
