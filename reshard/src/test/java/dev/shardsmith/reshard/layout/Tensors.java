package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Slow and simple: the bytes of a logical tensor, element by element. */
final class Tensors {
    private Tensors() {}

    /** All elements in row-major order. */
    static byte[] bytes(LogicalTensor tensor) throws IOException {
        int width = tensor.dtype().byteSize();
        byte[] bytes = new byte[(int) tensor.bytes()];
        long[] strides = tensor.shape().rowMajorStrides();
        for (Piece piece : tensor.pieces()) {
            StoredTensor view = piece.data();
            long elements = view.shape().elements();
            long[] local = view.shape().rowMajorStrides();
            for (long i = 0; i < elements; i++) {
                long from = view.offset();
                long to = 0;
                for (int dim = 0; dim < local.length; dim++) {
                    long index = i / local[dim] % view.shape().size(dim);
                    from += index * view.strides()[dim] * width;
                    to += (piece.at()[dim] + index) * strides[dim];
                }
                view.source().read(from, ByteBuffer.wrap(bytes, (int) to * width, width));
            }
        }
        return bytes;
    }

    /** The digest of the elements. */
    static String sha256(LogicalTensor tensor) throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes(tensor)));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
