package dev.shardsmith.verify.digest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;

/**
 * What one pass over a logical tensor tells.
 *
 * @param sha256 over its elements in row-major order, little-endian, as stored
 * @param statistics of its values; empty if not asked for or if the type has no numeric meaning
 */
public record TensorDigest(byte[] sha256, Optional<TensorStatistics> statistics) {
    /** The digest of a tensor, read block by block on the calling thread. */
    public static TensorDigest of(TensorReading tensor, BlockReader reader) throws IOException {
        return pass(tensor, reader, Optional.empty());
    }

    /** The digest and the statistics of a tensor, without a histogram. */
    public static TensorDigest withStatistics(TensorReading tensor, BlockReader reader) throws IOException {
        return pass(tensor, reader, TensorStatistics.withoutHistogram(tensor.dtype()));
    }

    /** The digest in hexadecimal. */
    public String sha256Hex() {
        return HexFormat.of().formatHex(sha256);
    }

    private static TensorDigest pass(TensorReading tensor, BlockReader reader, Optional<TensorStatistics> statistics)
            throws IOException {
        MessageDigest digest = newDigest();
        ByteBuffer block = tensor.buffer(reader, 0);
        byte[] bytes = new byte[Math.min(64 * 1024, tensor.grid().blockBytes(tensor.dtype()))];
        for (long i = 0; i < tensor.grid().blocks(); i++) {
            tensor.read(reader, i, block);
            int elements = block.remaining() / tensor.dtype().byteSize();
            if (statistics.isPresent()) {
                statistics.get().add(block, elements);
            }
            // Through an array: the digest is made much faster from one than from a direct buffer.
            while (block.hasRemaining()) {
                int count = Math.min(bytes.length, block.remaining());
                block.get(bytes, 0, count);
                digest.update(bytes, 0, count);
            }
        }
        return new TensorDigest(digest.digest(), statistics);
    }

    private static MessageDigest newDigest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
