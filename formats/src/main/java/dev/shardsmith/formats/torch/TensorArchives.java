package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.Unpickled;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Opens archives of one tensor each, of which a distributed checkpoint has one for every chunk.
 *
 * <p>Chunks of the same sizes have the same pickle, byte for byte. What a pickle says is worked out once; of the archives that
 * repeat it only the records are looked at, as carefully as of any other. Safe for use by several threads.
 */
public final class TensorArchives {
    /** Kept pickles are few and short: a tensor's has some hundred bytes. */
    private static final int MOST_KNOWN = 1024;

    private static final int LONGEST_PICKLE = 4096;

    private final TorchLimits limits = TorchLimits.defaults();
    private final Map<Content, Meaning> known = new LinkedHashMap<>();

    /** The bytes of a pickle. */
    private static final class Content {
        private final byte[] bytes;
        private final int crc;

        private Content(byte[] bytes, int crc) {
            this.bytes = bytes;
            this.crc = crc;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Content content && Arrays.equals(bytes, content.bytes);
        }

        @Override
        public int hashCode() {
            return crc;
        }
    }

    /** What a pickle says: one view of one storage. */
    private record Meaning(Unpickled pickle, StorageResolver.StorageId storage, StoredTensor view) {}

    /**
     * The tensor that an item is, if it is one whose elements can be read.
     *
     * @throws dev.shardsmith.formats.CheckpointException as {@link TorchFile#open(ByteSource)} does
     */
    public Found open(ByteSource item) throws IOException {
        EdgeBuffer edges = EdgeBuffer.of(item);
        if (TorchArchive.isArchive(edges)) {
            ZipArchive zip = ZipArchive.open(edges, limits);
            Optional<ZipRecord> record = zip.find(zip.folder() + TorchArchive.PICKLE);
            if (record.isPresent() && record.get().stored() && record.get().size() <= LONGEST_PICKLE) {
                return open(item, edges, zip, record.get());
            }
        }
        return opened(item);
    }

    private Found open(ByteSource item, ByteSource edges, ZipArchive zip, ZipRecord record) throws IOException {
        byte[] bytes = TorchArchive.checkedBytes(zip, record, limits);
        Content content = new Content(bytes, (int) record.crc());
        Meaning meaning;
        synchronized (known) {
            meaning = known.get(content);
        }
        if (meaning == null) {
            Found found = opened(item);
            remember(content, found);
            return found;
        }
        TorchArchive.requireTorch(edges, zip);
        TorchArchive archive = new TorchArchive(edges, zip, limits, meaning.pickle());
        TorchStorage storage = archive.storage(meaning.storage(), PyNone.NONE);
        StoredTensor view = meaning.view();
        return new Found(
                Optional.empty(),
                Optional.of(new StoredTensor(
                        view.dtype(),
                        view.shape(),
                        view.strides(),
                        archive.dataIn(item, storage.key()),
                        view.offset(),
                        storage.order(),
                        view.conjugate(),
                        view.negative())));
    }

    /**
     * What an item turned out to be.
     *
     * @param file the file, where it had to be read for this
     * @param elements the elements of the one tensor that it is, if it is one and they can be read
     */
    public record Found(Optional<TorchFile> file, Optional<StoredTensor> elements) {}

    private Found opened(ByteSource item) throws IOException {
        TorchFile file = TorchFile.open(item, limits);
        return new Found(Optional.of(file), file.tensor(file.root()).flatMap(TorchTensor::data));
    }

    private void remember(Content content, Found found) {
        TorchFile file = found.file().orElseThrow();
        if (found.elements().isEmpty() || file.storages().size() != 1) {
            return;
        }
        TorchStorage storage = file.storages().get(0);
        StoredTensor view = found.elements().get();
        if (view.source() != storage.data()) {
            return;
        }
        StorageResolver.StorageId id = new StorageResolver.StorageId(
                storage.key(), storage.elementType(), storage.elements(), storage.bytes(), storage.location());
        synchronized (known) {
            if (known.size() < MOST_KNOWN) {
                known.put(content, new Meaning(file.pickle(), id, view));
            }
        }
    }
}
