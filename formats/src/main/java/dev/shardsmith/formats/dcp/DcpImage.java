package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpMetadataWriter.Item;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchImage;
import dev.shardsmith.formats.torch.TorchPickle;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Lays out a distributed checkpoint that is to be written.
 *
 * <p>Data file number r is {@code __r_0.distcp}; it has its objects first, then its chunks, each in the order in which they
 * were added. PyTorch from 2.3 on reads the result. The same content gives the same bytes on every run.
 */
public final class DcpImage {
    private static final String COMMON = "common.pt";
    private static final String MEGATRON = "{\"sharded_backend\": \"torch_dist\", \"sharded_backend_version\": 1";
    private static final String MEGATRON_COMMON = ", \"common_backend\": \"torch\", \"common_backend_version\": 1";

    private final Map<String, Entry> entries = new LinkedHashMap<>();
    private final Map<String, List<PyValue>> paths = new LinkedHashMap<>();
    private Optional<PyValue> common = Optional.empty();
    private Map<PyValue, PyValue> commonSubstitutes = Map.of();
    private boolean megatron;

    /**
     * A box of a tensor that is to be written.
     *
     * @param offsets where it begins, one number per dimension
     * @param sizes its sizes, one per dimension
     * @param slotKey the key under which the image asks for its bytes, row-major
     * @param file number of the data file it goes to
     */
    public record Chunk(long[] offsets, long[] sizes, String slotKey, int file) {}

    /** A tensor with its chunks, or an object. */
    private record Entry(
            Optional<DType> dtype, Shape shape, List<Chunk> chunks, Optional<FileImage> object, int file) {}

    /** All that a chunk's archive depends on: there may be a million chunks of a few forms. */
    private record Form(DType dtype, Shape shape) {}

    /**
     * Adds a tensor; its chunks have to cover it exactly once.
     *
     * @throws CheckpointException if the name is taken or PyTorch has no plain tensors of the type
     */
    public DcpImage tensor(String name, DType dtype, Shape shape, List<Chunk> chunks) throws CheckpointException {
        if (dtype.kind() == DType.Kind.QUANTIZED || !dtype.byteAligned()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    "tensor " + name,
                    "distributed checkpoints hold no tensors of type " + dtype.torchName());
        }
        add(name, new Entry(Optional.of(dtype), shape, List.copyOf(chunks), Optional.empty(), 0));
        return this;
    }

    /**
     * Adds an object; Megatron expects each in a list of its own. Its storages are asked for by {@link #storageKey}.
     *
     * @param file number of the data file it goes to
     */
    public DcpImage object(String name, PyValue value, int file) throws CheckpointException {
        return object(name, value, Map.of(), file);
    }

    /** Adds an object in which some nodes are replaced by others, by identity. */
    public DcpImage object(String name, PyValue value, Map<PyValue, PyValue> substitutes, int file)
            throws CheckpointException {
        FileImage image = ofObject(name, value, substitutes, TorchImage.DEFAULT_FOLDER);
        add(name, new Entry(Optional.empty(), Shape.SCALAR, List.of(), Optional.of(image), file));
        return this;
    }

    /**
     * Adds an object whose bytes are known, as another checkpoint has them.
     *
     * @param file number of the data file it goes to
     */
    public DcpImage item(String name, byte[] bytes, int file) throws CheckpointException {
        add(name, new Entry(Optional.empty(), Shape.SCALAR, List.of(), Optional.of(literal(name, bytes)), file));
        return this;
    }

    /** Records where an entry belongs in the nested state dict: keys (strings) and positions in lists (ints). */
    public DcpImage path(String name, List<? extends PyValue> path) {
        paths.put(name, List.copyOf(path));
        return this;
    }

    /** Records every entry that has no path as an item of the outermost dict, as PyTorch does. */
    public DcpImage withPaths() {
        for (String name : entries.keySet()) {
            paths.putIfAbsent(name, List.of(new PyStr(name)));
        }
        return this;
    }

    /** Adds Megatron's {@code metadata.json}. */
    public DcpImage forMegatron() {
        megatron = true;
        return this;
    }

    /** Adds {@code common.pt}, which Megatron-core up to 0.18 expects; its storages are asked for by {@link #storageKey}. */
    public DcpImage withCommon(PyValue state) {
        return withCommon(state, Map.of());
    }

    /** Adds {@code common.pt} in which some nodes are replaced by others, by identity. */
    public DcpImage withCommon(PyValue state, Map<PyValue, PyValue> substitutes) {
        common = Optional.of(state);
        commonSubstitutes = substitutes;
        return forMegatron();
    }

    /** The slot key of a storage inside an object, or inside {@code common.pt} where that is the name. */
    public static String storageKey(String object, String key) {
        return object + "#" + key;
    }

    /**
     * The files, in the order in which they have to appear: data first, then {@code common.pt}, {@code .metadata}, and
     * {@code metadata.json} last.
     */
    public List<FileImage> build() throws CheckpointException {
        Map<Integer, List<FileImage>> parts = new TreeMap<>();
        Map<Integer, Long> ends = new TreeMap<>();
        Map<String, List<Item>> items = new LinkedHashMap<>();
        Map<Form, FileImage> archives = new HashMap<>();
        for (Map.Entry<String, Entry> entry : entries.entrySet()) {
            Entry given = entry.getValue();
            if (given.object().isPresent()) {
                items.put(
                        entry.getKey(),
                        List.of(place(given.file(), given.object().get(), parts, ends)));
            }
        }
        for (Map.Entry<String, Entry> entry : entries.entrySet()) {
            Entry given = entry.getValue();
            if (given.dtype().isPresent()) {
                List<Item> places = new ArrayList<>(given.chunks().size());
                for (Chunk chunk : given.chunks()) {
                    Form form = new Form(given.dtype().get(), Shape.of(chunk.sizes()));
                    FileImage image = archives.get(form);
                    if (image == null) {
                        image = archive(form);
                        archives.put(form, image);
                    }
                    places.add(place(chunk.file(), image.withSlotKey(chunk.slotKey()), parts, ends));
                }
                items.put(entry.getKey(), places);
            }
        }
        List<FileImage> files = new ArrayList<>();
        for (Map.Entry<Integer, List<FileImage>> file : parts.entrySet()) {
            files.add(FileImage.concatenate(DcpMetadataWriter.fileName(file.getKey()), file.getValue()));
        }
        if (common.isPresent()) {
            files.add(ofObject(COMMON, common.get(), commonSubstitutes, "common"));
        }
        files.add(literal(DcpCheckpoint.METADATA, metadata(items)));
        if (megatron) {
            String json = MEGATRON + (common.isPresent() ? MEGATRON_COMMON : "") + "}";
            files.add(literal("metadata.json", json.getBytes(StandardCharsets.US_ASCII)));
        }
        return files;
    }

    private byte[] metadata(Map<String, List<Item>> items) {
        DcpMetadataWriter writer = new DcpMetadataWriter();
        writer.begin();
        entries.forEach((name, entry) -> {
            if (entry.dtype().isPresent()) {
                writer.tensor(name, entry.dtype().get(), entry.shape(), entry.chunks());
            } else {
                writer.object(name);
            }
        });
        writer.beginPaths(!paths.isEmpty());
        paths.forEach(writer::path);
        writer.beginPlaces();
        entries.forEach((name, entry) -> {
            List<Item> places = items.get(name);
            for (int i = 0; i < places.size(); i++) {
                Optional<long[]> offsets = entry.dtype().isPresent()
                        ? Optional.of(entry.chunks().get(i).offsets())
                        : Optional.empty();
                writer.place(name, offsets, i, places.get(i));
            }
        });
        return writer.end();
    }

    private void add(String name, Entry entry) throws CheckpointException {
        if (entries.putIfAbsent(name, entry) != null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED, "entry " + name, "two entries would have the name " + name);
        }
    }

    private static FileImage archive(Form form) throws CheckpointException {
        return TorchImage.of(new TorchPickle().tensor(form.dtype(), form.shape(), "chunk"))
                .build("");
    }

    private static Item place(int file, FileImage image, Map<Integer, List<FileImage>> parts, Map<Integer, Long> ends) {
        long offset = ends.getOrDefault(file, 0L);
        ends.put(file, Math.addExact(offset, image.size()));
        parts.computeIfAbsent(file, number -> new ArrayList<>()).add(image);
        return new Item(file, offset, image.size());
    }

    private static FileImage ofObject(String name, PyValue value, Map<PyValue, PyValue> substitutes, String folder)
            throws CheckpointException {
        FileImage image =
                TorchImage.of(value).inFolder(folder).replacing(substitutes).build(name);
        List<FileImage.Slot> slots = image.slots().stream()
                .map(slot -> new FileImage.Slot(storageKey(name, slot.key()), slot.offset(), slot.length()))
                .toList();
        return new FileImage(image.path(), image.size(), image.literals(), slots, image.crcPatches());
    }

    private static FileImage literal(String path, byte[] bytes) {
        return new FileImage(path, bytes.length, List.of(new FileImage.Literal(0, bytes)), List.of(), List.of());
    }
}
