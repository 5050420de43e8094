package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpPiece;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What a distributed checkpoint stores under its own keys. */
final class StoredChunks {
    private StoredChunks() {}

    /** Shape and chunks of every tensor. */
    static Map<String, String> of(Path root) throws IOException {
        Map<String, String> chunks = new TreeMap<>();
        try (FilePool pool = new FilePool()) {
            for (DcpTensor tensor : DcpCheckpoint.open(pool, iteration(root)).tensors()) {
                List<String> boxes = new ArrayList<>();
                tensor.chunks()
                        .forEach(chunk -> boxes.add(Arrays.toString(chunk.offsets()) + Arrays.toString(chunk.sizes())));
                boxes.sort(null);
                chunks.put(tensor.name(), tensor.shape() + " " + boxes);
            }
        }
        return chunks;
    }

    /** The digest of every tensor. */
    static Map<String, String> digests(Path root) throws IOException {
        Map<String, String> digests = new TreeMap<>();
        try (FilePool pool = new FilePool()) {
            for (DcpTensor tensor : DcpCheckpoint.open(pool, iteration(root)).tensors()) {
                LogicalTensor logical = LogicalTensor.lazy(
                        tensor.name(), tensor.dtype().orElseThrow(), tensor.shape(), "", () -> pieces(tensor));
                digests.put(tensor.name(), Tensors.sha256(logical));
            }
        }
        return digests;
    }

    private static List<Piece> pieces(DcpTensor tensor) throws IOException {
        List<Piece> pieces = new ArrayList<>();
        for (DcpPiece piece : tensor.pieces()) {
            pieces.add(new Piece(piece.offsets(), piece.open()));
        }
        return pieces;
    }

    private static Path iteration(Path root) throws IOException {
        try (var entries = Files.list(root)) {
            return entries.filter(path -> path.getFileName().toString().startsWith("iter_"))
                    .findFirst()
                    .orElse(root);
        }
    }
}
