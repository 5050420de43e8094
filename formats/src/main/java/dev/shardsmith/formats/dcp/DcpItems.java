package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.safetensors.SafetensorsFile;
import dev.shardsmith.formats.torch.TensorArchives;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.formats.torch.TorchTensor;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Opens the items of data files. */
final class DcpItems {
    /** What an archive of one tensor has beside the tensor's bytes is a few KiB. */
    private static final long ARCHIVE_BYTES = 1 << 20;

    private final FilePool pool;
    private final Path folder;
    private final TensorArchives archives = new TensorArchives();
    private final Map<String, ByteSource> files = new LinkedHashMap<>();
    private final Map<String, SafetensorsFile> safetensors = new LinkedHashMap<>();

    DcpItems(FilePool pool, Path folder) {
        this.pool = pool;
        this.folder = folder;
    }

    /** The bytes of an item, transforms undone; at most {@code maxBytes} where a transform makes more of them. */
    ByteSource bytes(DcpPlace place, long maxBytes) throws IOException {
        ByteSource item = file(place.file()).slice("item", place.offset(), place.length());
        int limit = (int) Math.min(Integer.MAX_VALUE - 8, maxBytes);
        return place.transforms().isEmpty() ? item : StreamTransforms.undo(item, place.transforms(), limit);
    }

    /** The tensor of an item, which has to have the sizes of its chunk. */
    StoredTensor tensor(String name, Optional<DType> dtype, DcpPlace place, long[] sizes) throws IOException {
        Shape shape = Shape.of(sizes);
        Optional<SafetensorsFile> blob = place.transforms().isEmpty() ? safetensors(place) : Optional.empty();
        StoredTensor tensor = blob.isPresent()
                ? ofSafetensors(name, blob.get())
                : ofArchive(name, bytes(place, maxBytes(dtype, shape)));
        if (!tensor.shape().equals(shape)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT,
                    tensor.source().name(),
                    "the item of tensor " + name + " has shape " + tensor.shape() + ", but its chunk has " + shape);
        }
        return tensor;
    }

    private static long maxBytes(Optional<DType> dtype, Shape shape) {
        // An element has at most 16 bytes, whatever its type.
        long bytes = dtype.map(type -> type.bytes(shape.elements())).orElse(16 * shape.elements());
        return bytes + ARCHIVE_BYTES;
    }

    private static StoredTensor ofSafetensors(String name, SafetensorsFile file) throws IOException {
        return file.entry(name)
                .orElseThrow(() -> CheckpointException.of(
                        CheckpointException.Kind.INCOMPLETE,
                        file.source().name(),
                        "the safetensors data that should hold tensor " + name + " does not list it"))
                .tensor();
    }

    private StoredTensor ofArchive(String name, ByteSource item) throws IOException {
        TensorArchives.Found found = archives.open(item);
        if (found.elements().isPresent()) {
            return found.elements().get();
        }
        TorchFile file = found.file().orElseThrow();
        Optional<TorchTensor> tensor = file.tensor(file.root());
        if (tensor.isEmpty()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    item.name(),
                    "the item of tensor " + name + " holds something else than one tensor");
        }
        throw CheckpointException.of(
                CheckpointException.Kind.UNSUPPORTED,
                item.name(),
                "tensor " + name + " is of a kind whose elements cannot be read: "
                        + tensor.get().kind());
    }

    /** The safetensors data that begins where the item does, if it does not begin like an archive. */
    private Optional<SafetensorsFile> safetensors(DcpPlace place) throws IOException {
        String key = place.offset() + " " + place.file();
        synchronized (safetensors) {
            SafetensorsFile known = safetensors.get(key);
            if (known != null) {
                return Optional.of(known);
            }
        }
        ByteSource file = file(place.file());
        ByteSource rest = place.offset() == 0
                ? file
                : file.slice("", place.offset(), file.size() - Math.min(place.offset(), file.size()));
        if (!SafetensorsFile.looksLike(rest)) {
            return Optional.empty();
        }
        SafetensorsFile opened = SafetensorsFile.open(rest);
        synchronized (safetensors) {
            safetensors.put(key, opened);
        }
        return Optional.of(opened);
    }

    private ByteSource file(String name) throws IOException {
        synchronized (files) {
            ByteSource file = files.get(name);
            if (file == null) {
                file = pool.file(inside(name));
                files.put(name, file);
            }
            return file;
        }
    }

    /** The path of a data file, unless a link leads out of the folder. */
    private Path inside(String name) throws IOException {
        Path file = folder.resolve(name);
        try {
            if (!file.toRealPath().startsWith(folder.toRealPath())) {
                throw CheckpointException.of(
                                CheckpointException.Kind.REFUSED,
                                file.toString(),
                                "this data file is a link that leads out of the checkpoint's folder")
                        .withHint("copy the file it leads to in its place");
            }
        } catch (NoSuchFileException e) {
            throw CheckpointException.of(
                            CheckpointException.Kind.INCOMPLETE, file.toString(), "the data file does not exist")
                    .causedBy(e);
        }
        return file;
    }
}
