package dev.shardsmith.cli;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The sums of a checkpoint, without reading tensor data.
 *
 * @param tensors number of logical tensors
 * @param elements elements of all of them
 * @param bytes bytes of all of them
 * @param bytesByType bytes of the logical tensors of each element type
 * @param files number of files that were opened
 * @param fileBytes bytes of these files
 * @param wastedBytes bytes of storages that no tensor shows
 */
record CheckpointSummary(
        int tensors,
        long elements,
        long bytes,
        Map<DType, Long> bytesByType,
        int files,
        long fileBytes,
        long wastedBytes) {

    /** The sums of an opened checkpoint. */
    static CheckpointSummary of(ModelView view) throws IOException {
        long elements = 0;
        long bytes = 0;
        Set<DType> types = EnumSet.noneOf(DType.class);
        long[] sums = new long[DType.values().length];
        for (LogicalTensor tensor : view.tensors().values()) {
            elements = Math.addExact(elements, tensor.shape().elements());
            long size = tensor.bytes();
            bytes = Math.addExact(bytes, size);
            // None is above the sum of all.
            sums[tensor.dtype().ordinal()] += size;
            types.add(tensor.dtype());
        }
        Map<DType, Long> byType = new EnumMap<>(DType.class);
        types.forEach(type -> byType.put(type, sums[type.ordinal()]));
        long fileBytes = 0;
        for (Path file : view.files().files()) {
            fileBytes = Math.addExact(fileBytes, Files.size(file));
        }
        return new CheckpointSummary(
                view.tensors().size(),
                elements,
                bytes,
                byType,
                view.files().files().size(),
                fileBytes,
                wasted(view));
    }

    /**
     * Bytes of storages beyond those that tensors show. Saving a slice of a tensor with PyTorch saves the whole storage, so
     * that each shard of a carelessly split model can be as large as the model. Items of a distributed checkpoint are archives
     * of their own: there it would take opening millions of them to know, and PyTorch saves compact copies.
     */
    private static long wasted(ModelView view) throws IOException {
        if (view.layout() == ModelView.Layout.TORCH_DIST) {
            return 0;
        }
        return anyWasted(view) ? countWasted(view) : 0;
    }

    /** False if every tensor shows the whole of its storage, as in nearly all checkpoints, where nothing need be added up. */
    private static boolean anyWasted(ModelView view) throws IOException {
        for (RankShard rank : view.ranks()) {
            for (LogicalTensor tensor : rank.tensors().values()) {
                for (Piece piece : tensor.pieces()) {
                    StoredTensor data = piece.data();
                    if (data.bytes() < data.source().size()
                            && !isWholeFile(data.source().inFile())) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /** True for safetensors, whose format leaves no room for anything but tensors. */
    private static boolean isWholeFile(Optional<ByteSource.FileRange> range) {
        return range.isPresent() && range.get().offset() == 0;
    }

    private static long countWasted(ModelView view) throws IOException {
        Map<Object, Long> unseen = new HashMap<>();
        for (RankShard rank : view.ranks()) {
            for (LogicalTensor tensor : rank.tensors().values()) {
                for (Piece piece : tensor.pieces()) {
                    StoredTensor data = piece.data();
                    Optional<ByteSource.FileRange> range = data.source().inFile();
                    if (isWholeFile(range)) {
                        continue;
                    }
                    Object storage =
                            range.isPresent() ? range.get() : data.source().name();
                    long size = unseen.containsKey(storage)
                            ? unseen.get(storage)
                            : data.source().size();
                    unseen.put(storage, size - data.bytes());
                }
            }
        }
        return unseen.values().stream().mapToLong(bytes -> Math.max(0, bytes)).sum();
    }
}
