package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;

/**
 * Reads boxes of logical tensors from the pieces that hold them, in row-major order and little-endian.
 *
 * <p>Not safe for use by several threads: it holds a buffer.
 */
public final class BlockReader {
    /** The most that is read at once; what lies wider apart is read in parts. */
    private static final int SCRATCH = 1024 * 1024;

    /** Reading this many bytes costs about as much as another call. */
    private static final int CALL = 4096;

    private final ByteBuffer[] blocks = new ByteBuffer[2];
    private ByteBuffer scratch;

    /** The reader of the calling thread if it is one of {@link OrderedWork}'s, which keep theirs; else a new one. */
    public static BlockReader ofThisThread() {
        return Thread.currentThread() instanceof ReadingThread thread ? thread.reader() : new BlockReader();
    }

    /**
     * A buffer for blocks that belongs to this reader, so that it is made once and not for each tensor.
     *
     * @param slot 0 or 1: a comparison needs two
     */
    public ByteBuffer buffer(int slot, int bytes) {
        if (blocks[slot] == null || blocks[slot].capacity() < bytes) {
            blocks[slot] =
                    ByteBuffer.allocateDirect(Math.max(bytes, SCRATCH / 2)).order(ByteOrder.LITTLE_ENDIAN);
        }
        return blocks[slot];
    }

    /**
     * Fills {@code target} from index 0 on with the elements of {@code box}, and sets its position to 0 and its limit to
     * their end.
     *
     * @param target direct, little-endian, with room for the box
     * @throws CheckpointException if no piece holds some of the elements
     */
    public void read(List<Piece> pieces, Box box, DType dtype, ByteBuffer target) throws IOException {
        long elements = box.elements();
        int bytes = Math.toIntExact(dtype.bytes(elements));
        target.clear().limit(bytes);
        long filled = 0;
        long[] strides = box.shape().rowMajorStrides();
        for (Piece piece : pieces) {
            Optional<Box> common = piece.box().intersect(box);
            if (common.isPresent()) {
                Box inside = common.get();
                filled += inside.elements();
                copy(piece.view(inside), offset(inside.relativeTo(box.offset()), strides), strides, target);
            }
        }
        if (filled != elements) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    "",
                    (elements - filled) + " elements of " + box + " are missing");
        }
        target.clear().limit(bytes);
    }

    private static long offset(Box relative, long[] strides) {
        long offset = 0;
        for (int dim = 0; dim < strides.length; dim++) {
            offset += relative.offset()[dim] * strides[dim];
        }
        return offset;
    }

    /** Copies a view to elements {@code at + Σ i_d · strides[d]} of the target. */
    private void copy(StoredTensor view, long at, long[] strides, ByteBuffer target) throws IOException {
        int size = view.dtype().byteSize();
        long extent = view.endOffset() - view.offset();
        if (contiguous(view.shape().toArray(), view.strides(), strides)
                == view.shape().elements()) {
            int start = Math.toIntExact(at * size);
            ByteBuffer part = target.duplicate();
            part.clear().position(start).limit(start + Math.toIntExact(view.bytes()));
            view.source().read(view.offset(), part);
            StoredOrder.toLittleEndian(view, target, start, view.shape().elements());
        } else if (extent <= SCRATCH && extent <= Math.max(CALL, 4 * view.bytes())) {
            if (scratch == null) {
                scratch = ByteBuffer.allocateDirect(SCRATCH).order(ByteOrder.LITTLE_ENDIAN);
            }
            scratch.clear().limit((int) extent);
            view.source().read(view.offset(), scratch);
            StridedCopy.of(view.shape().toArray(), view.strides(), strides, size)
                    .run(scratch, target, Math.toIntExact(at * size), view);
        } else {
            halves(view, at, strides, target);
        }
    }

    /** Cuts the view where its elements lie farthest apart. The depth is at most the logarithm of the elements. */
    private void halves(StoredTensor view, long at, long[] strides, ByteBuffer target) throws IOException {
        int widest = -1;
        long width = -1;
        for (int dim = 0; dim < strides.length; dim++) {
            long reach = (view.shape().size(dim) - 1) * view.strides()[dim];
            if (view.shape().size(dim) > 1 && reach > width) {
                widest = dim;
                width = reach;
            }
        }
        long half = view.shape().size(widest) / 2;
        copy(view.narrow(widest, 0, half), at, strides, target);
        copy(view.narrow(widest, half, view.shape().size(widest) - half), at + half * strides[widest], strides, target);
    }

    /** Elements, counted from the innermost dimension, that follow each other on both sides. */
    static long contiguous(long[] sizes, long[] from, long[] to) {
        long run = 1;
        for (int dim = sizes.length - 1; dim >= 0; dim--) {
            if (sizes[dim] == 1) {
                continue;
            }
            if (from[dim] != run || to[dim] != run) {
                return run;
            }
            run *= sizes[dim];
        }
        return run;
    }
}
