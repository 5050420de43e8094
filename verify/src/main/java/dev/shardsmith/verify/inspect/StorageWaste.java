package dev.shardsmith.verify.inspect;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Bytes of storages that no tensor uses: a view that was saved keeps the whole storage it was cut from.
 *
 * @param file the file
 * @param stored bytes of the storages that the model's tensors lie in
 * @param used bytes of them that the tensors use
 */
public record StorageWaste(Path file, long stored, long used) {
    /** Below this share of a file nothing is said: paddings and headers are no waste. */
    private static final double WORTH_SAYING = 0.01;

    private static final class Storage {
        final Path file;
        final long size;
        long used;

        Storage(Path file, long size) {
            this.file = file;
            this.size = size;
        }
    }

    /** Files with more than a hundredth of unused storage; reads no tensor data. */
    public static List<StorageWaste> of(ModelView view) throws IOException {
        Map<String, Storage> storages = new LinkedHashMap<>();
        for (LogicalTensor tensor : view.tensors().values()) {
            for (Piece piece : tensor.pieces()) {
                add(piece.data(), storages);
            }
            for (Piece piece : tensor.replicas()) {
                add(piece.data(), storages);
            }
        }
        Map<Path, StorageWaste> byFile = new LinkedHashMap<>();
        for (Storage storage : storages.values()) {
            byFile.merge(
                    storage.file,
                    new StorageWaste(storage.file, storage.size, Math.min(storage.size, storage.used)),
                    (a, b) -> new StorageWaste(a.file, a.stored + b.stored, a.used + b.used));
        }
        List<StorageWaste> found = new ArrayList<>(byFile.values());
        found.removeIf(waste -> waste.wasted() <= WORTH_SAYING * waste.stored());
        return found;
    }

    private static void add(StoredTensor data, Map<String, Storage> storages) {
        Optional<ByteSource.FileRange> range = data.source().inFile();
        // A source that is a whole file holds other things than one tensor's storage.
        if (range.isPresent() && range.get().offset() > 0) {
            String key = range.get().file() + "@" + range.get().offset();
            storages.computeIfAbsent(
                            key, none -> new Storage(range.get().file(), range.get().length()))
                    .used += data.bytes();
        }
    }

    /** Bytes that nothing uses. */
    public long wasted() {
        return stored - used;
    }
}
