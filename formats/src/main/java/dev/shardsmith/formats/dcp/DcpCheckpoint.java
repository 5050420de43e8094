package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A distributed checkpoint: its metadata read, its items found but not opened. */
public final class DcpCheckpoint {
    /** The file whose presence says that a save was finished. */
    public static final String METADATA = ".metadata";

    private static final Pattern RANK_METADATA = Pattern.compile("__(\\d{1,9})\\.metadata");

    /** Objects are small; a whole optimizer state of the oldest form may have gigabytes. */
    private static final int MAX_OBJECT_BYTES = 1 << 30;

    private final Path folder;
    private final DcpMetadata metadata;
    private final DcpItems items;
    private final Map<Integer, RowOrder> orders = new ConcurrentHashMap<>();

    private DcpCheckpoint(FilePool pool, Path folder, DcpMetadata metadata) {
        this.folder = folder;
        this.metadata = metadata;
        this.items = new DcpItems(pool, folder);
    }

    /**
     * Reads the metadata of a folder: {@code .metadata}, else the files that single ranks wrote, else the headers of
     * safetensors parts.
     *
     * @throws CheckpointException of kind INCOMPLETE if there is data but no metadata
     */
    public static DcpCheckpoint open(FilePool pool, Path folder) throws IOException {
        if (Files.isRegularFile(folder.resolve(METADATA))) {
            return new DcpCheckpoint(pool, folder, DcpMetadataReader.read(pool.file(folder.resolve(METADATA))));
        }
        List<String> names = names(folder);
        List<DcpMetadata> ofRanks = new ArrayList<>();
        for (String name : names) {
            if (RANK_METADATA.matcher(name).matches()) {
                ofRanks.add(DcpMetadataReader.read(pool.file(folder.resolve(name))));
            }
        }
        if (!ofRanks.isEmpty()) {
            return new DcpCheckpoint(pool, folder, RankMetadata.merge(folder.toString(), ofRanks));
        }
        List<String> parts =
                names.stream().filter(name -> name.endsWith(".safetensors")).toList();
        Optional<DcpMetadata> fromParts = SafetensorsParts.read(pool, folder, parts);
        if (fromParts.isPresent()) {
            return new DcpCheckpoint(pool, folder, fromParts.get());
        }
        throw withoutMetadata(folder, names);
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        } catch (NoSuchFileException | NotDirectoryException e) {
            throw CheckpointException.of(
                            CheckpointException.Kind.INCOMPLETE, folder.toString(), "there is no such folder")
                    .causedBy(e);
        }
    }

    private static CheckpointException withoutMetadata(Path folder, List<String> names) {
        long data = names.stream().filter(name -> name.endsWith(".distcp")).count();
        if (data == 0) {
            return CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED,
                    folder.toString(),
                    "this folder is no distributed checkpoint: it has neither .metadata nor .distcp files");
        }
        String how = names.contains(METADATA + ".tmp")
                ? "; .metadata.tmp is left of a save that did not finish"
                : "; it is written last, so the save did not finish";
        return CheckpointException.of(
                        CheckpointException.Kind.INCOMPLETE,
                        folder.toString(),
                        "the checkpoint is incomplete: it has " + data + " .distcp files but no .metadata" + how)
                .withHint("wait until the save is done, or use an earlier iteration");
    }

    DcpMetadata metadata() {
        return metadata;
    }

    /** Rows of an entry's chunks that may hold an index of the first dimension. */
    int[] rowsAt(int entry, long index) {
        return orders.computeIfAbsent(entry, number -> RowOrder.of(metadata, number))
                .rowsAt(index);
    }

    StoredTensor tensorAt(int entry, int row) throws IOException {
        Optional<DType> dtype = Optional.ofNullable(metadata.dtype(entry).known());
        return items.tensor(metadata.name(entry), dtype, place(entry, row), metadata.sizes(entry, row));
    }

    /** The folder. */
    public Path folder() {
        return folder;
    }

    /** The tensors in the order of the metadata; a view, as there may be a million. */
    public List<DcpTensor> tensors() {
        int[] entries =
                IntStream.range(0, metadata.size()).filter(metadata::isTensor).toArray();
        return new AbstractList<>() {
            @Override
            public DcpTensor get(int index) {
                return new DcpTensor(DcpCheckpoint.this, entries[index]);
            }

            @Override
            public int size() {
                return entries.length;
            }
        };
    }

    /** The tensor of a name. */
    public Optional<DcpTensor> tensor(String name) {
        int entry = metadata.find(name);
        return entry >= 0 && metadata.isTensor(entry) ? Optional.of(new DcpTensor(this, entry)) : Optional.empty();
    }

    /** Names of the objects that are no tensors, in the order of the metadata. */
    public List<String> objects() {
        return IntStream.range(0, metadata.size())
                .filter(entry -> !metadata.isTensor(entry))
                .mapToObj(metadata::name)
                .toList();
    }

    /** True if the checkpoint has an object of this name. */
    public boolean hasObject(String name) {
        int entry = metadata.find(name);
        return entry >= 0 && !metadata.isTensor(entry);
    }

    /** Where the item of an object lies. */
    public DcpPlace objectPlace(String name) throws CheckpointException {
        int entry = objectEntry(name);
        return place(entry, metadata.firstRow(entry));
    }

    /** The bytes of an object's item, transforms undone. */
    public ByteSource objectBytes(String name) throws IOException {
        return items.bytes(objectPlace(name), MAX_OBJECT_BYTES);
    }

    /**
     * An object, as {@code torch.save} wrote it. Megatron puts each into a list of its own.
     *
     * @throws CheckpointException if there is no such object or its item is no PyTorch file
     */
    public TorchFile object(String name) throws IOException {
        return TorchFile.open(objectBytes(name));
    }

    /**
     * The path of an entry in the nested state dict: keys ({@link PyStr}) and positions in lists ({@link PyInt}). Where none
     * is recorded, as in Megatron's checkpoints, it is the name itself.
     */
    public List<PyValue> path(String name) {
        List<PyValue> path = metadata.plannerPath(name);
        return path.isEmpty() ? List.of(new PyStr(name)) : path;
    }

    /** The recorded path of an entry, if it leads through lists: keys (strings) and positions in lists (ints). */
    public Optional<List<PyValue>> pathThroughLists(String name) {
        return metadata.pathThroughLists(name);
    }

    /** True if the metadata records the nesting of the state dict. */
    public boolean hasPaths() {
        return metadata.origin().hasPlannerData();
    }

    /** Version of the metadata as written; empty before PyTorch 2.10. */
    public String version() {
        return metadata.origin().version();
    }

    /** Paths of the data files, relative to the folder, in the order in which the metadata names them. */
    public List<String> dataFiles() {
        return metadata.files();
    }

    /**
     * Checks all that can be told without opening an item: chunks that miss or overlap, places outside their files, places
     * that overlap, paths that contradict each other.
     */
    public List<DcpFinding> check() throws IOException {
        return DcpCheck.of(this);
    }

    DcpPlace place(int entry, int row) throws CheckpointException {
        if (metadata.file(row) == DcpMetadata.NO_FILE) {
            String what = metadata.isTensor(entry)
                    ? "the chunk at " + Arrays.toString(metadata.offsets(entry, row)) + " of tensor "
                    : "the object ";
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    metadata.source(),
                    what + metadata.name(entry) + " has no place in any data file");
        }
        return new DcpPlace(
                metadata.files().get(metadata.file(row)),
                metadata.itemOffset(row),
                metadata.itemLength(row),
                metadata.transforms(row));
    }

    private int objectEntry(String name) throws CheckpointException {
        int entry = metadata.find(name);
        if (entry < 0 || metadata.isTensor(entry)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE, metadata.source(), "there is no object " + name);
        }
        return entry;
    }
}
