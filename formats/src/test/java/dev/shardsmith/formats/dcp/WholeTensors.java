package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.Shape;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Puts small tensors together from their pieces, element by element. */
final class WholeTensors {
    private WholeTensors() {}

    /** The elements in row-major order. */
    static byte[] bytes(DcpTensor tensor) throws IOException {
        Shape shape = tensor.logicalShape();
        int width = tensor.dtype().orElseThrow().byteSize();
        byte[] whole = new byte[Math.toIntExact(shape.elements() * width)];
        long[] strides = shape.rowMajorStrides();
        for (DcpPiece piece : tensor.pieces()) {
            byte[] part = ElementReader.toBytes(piece.open());
            long[] offsets = piece.offsets();
            long[] sizes = piece.sizes();
            for (int i = 0; i < part.length / width; i++) {
                long at = 0;
                long rest = i;
                for (int dim = sizes.length - 1; dim >= 0; dim--) {
                    at += (offsets[dim] + rest % sizes[dim]) * strides[dim];
                    rest /= sizes[dim];
                }
                System.arraycopy(part, i * width, whole, Math.toIntExact(at * width), width);
            }
        }
        return whole;
    }

    static String sha256(DcpTensor tensor) throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes(tensor)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
