package dev.shardsmith.formats;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Streams the elements of a stored tensor in row-major order and little-endian, block by block.
 *
 * <p>Lazy conjugation and negation are applied and byte order is normalised, so two tensors give the same bytes exactly when
 * they hold the same elements. Strided views are read in spans and gathered in memory. Memory stays bounded by the block size
 * whatever the tensor's size.
 */
public final class ElementReader {
    /** Large enough for sequential reading and for panels of transposed matrices. */
    public static final int DEFAULT_BLOCK = 4 << 20;

    private final StoredTensor tensor;
    private final int blockBytes;
    private final StridedGather gather;

    private ElementReader(StoredTensor tensor, int blockBytes) {
        this.tensor = tensor;
        this.blockBytes = blockBytes;
        this.gather = new StridedGather(tensor);
    }

    /** Receives the blocks of a tensor in order. */
    @FunctionalInterface
    public interface Sink {
        /** Takes the bytes between position and limit; the buffer is used again for the next block. */
        void accept(ByteBuffer block) throws IOException;
    }

    /** Gives all elements of a tensor to a sink, in blocks of at most {@link #DEFAULT_BLOCK} bytes. */
    public static void forEachBlock(StoredTensor tensor, Sink sink) throws IOException {
        forEachBlock(tensor, DEFAULT_BLOCK, sink);
    }

    /**
     * Gives all elements of a tensor to a sink, in blocks of whole elements.
     *
     * @param blockBytes longest block, at least 16 bytes
     * @throws CheckpointException of kind REFUSED for views of types below one byte that are not contiguous
     */
    public static void forEachBlock(StoredTensor tensor, int blockBytes, Sink sink) throws IOException {
        if (blockBytes < 16) {
            throw new IllegalArgumentException("blocks of " + blockBytes + " bytes");
        }
        if (tensor.shape().elements() == 0) {
            return;
        }
        ElementReader reader = new ElementReader(tensor, blockBytes);
        if (tensor.isRowMajor()) {
            reader.readContiguous(sink);
        } else if (tensor.dtype().byteAligned()) {
            reader.readStrided(sink);
        } else {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    tensor.source().name(),
                    "a view of " + tensor.dtype().torchName() + " that is not contiguous cannot be read by elements");
        }
    }

    /** SHA-256 of a tensor's elements in row-major order, little-endian, in lower-case hexadecimal digits. */
    public static String sha256(StoredTensor tensor) throws IOException {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
        forEachBlock(tensor, digest::update);
        return HexFormat.of().formatHex(digest.digest());
    }

    /** All elements of a tensor in an array; for tensors known to be small. */
    public static byte[] toBytes(StoredTensor tensor) throws IOException {
        ByteBuffer all = ByteBuffer.allocate(Math.toIntExact(tensor.bytes()));
        forEachBlock(tensor, all::put);
        return all.array();
    }

    private void readContiguous(Sink sink) throws IOException {
        long bytes = tensor.bytes();
        byte[] block = new byte[(int) Math.min(bytes, blockBytes / 16 * 16)];
        for (long at = 0; at < bytes; at += block.length) {
            int length = (int) Math.min(block.length, bytes - at);
            tensor.source().read(tensor.offset() + at, ByteBuffer.wrap(block, 0, length));
            emit(block, length, sink);
        }
    }

    /** Cuts the tensor into boxes that are whole in all dimensions but one, each a run of the output. */
    private void readStrided(Sink sink) throws IOException {
        Shape shape = tensor.shape();
        int elementSize = tensor.dtype().byteSize();
        int cut = shape.rank() - 1;
        long inner = 1;
        while (cut > 0 && shape.size(cut) <= blockBytes / elementSize / inner) {
            inner *= shape.size(cut--);
        }
        long rows = Math.max(1, Math.min(shape.size(cut), blockBytes / elementSize / inner));
        byte[] block = new byte[Math.toIntExact(rows * inner * elementSize)];
        long[] start = new long[shape.rank()];
        long[] size = shape.toArray();
        Arrays.fill(size, 0, cut, 1);
        boolean more = true;
        while (more) {
            for (start[cut] = 0; start[cut] < shape.size(cut); start[cut] += rows) {
                size[cut] = Math.min(rows, shape.size(cut) - start[cut]);
                gather.read(start, size, block);
                emit(block, Math.toIntExact(size[cut] * inner * elementSize), sink);
            }
            start[cut] = 0;
            more = advance(start, cut, shape);
        }
    }

    /** Steps to the next index of the dimensions before {@code cut}; false after the last. */
    private static boolean advance(long[] index, int cut, Shape shape) {
        for (int dim = cut - 1; dim >= 0; dim--) {
            if (++index[dim] < shape.size(dim)) {
                return true;
            }
            index[dim] = 0;
        }
        return false;
    }

    private void emit(byte[] block, int length, Sink sink) throws IOException {
        if (tensor.order() == ByteOrder.BIG_ENDIAN) {
            ElementBytes.reverse(block, length, tensor.dtype().swapUnit());
        }
        if (tensor.conjugate() || tensor.negative()) {
            ElementBytes.changeSigns(block, length, tensor.dtype(), tensor.conjugate(), tensor.negative());
        }
        sink.accept(ByteBuffer.wrap(block, 0, length).order(ByteOrder.LITTLE_ENDIAN));
    }
}
