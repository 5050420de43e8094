package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.pickle.PickleWriter;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyPersistent;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import java.nio.charset.StandardCharsets;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Lays out an archive as {@code torch.save} writes it, for an object graph whose storages are filled in later.
 *
 * <p>Storages may have any keys in the graph: they are numbered in the order of first use, as PyTorch does, and the slots of
 * the image carry the graph's keys. Storages that are referred to several times have one slot.
 */
public final class TorchImage {
    /** The folder that PyTorch uses when it saves to a stream. */
    public static final String DEFAULT_FOLDER = "archive";

    private static final int DEFAULT_ALIGNMENT = 64;

    private final PyValue root;
    private String folder = DEFAULT_FOLDER;
    private int alignment = DEFAULT_ALIGNMENT;
    private final Map<PyValue, PyValue> substitutes = new IdentityHashMap<>();
    private final Map<String, byte[]> extraRecords = new LinkedHashMap<>();
    private final Map<String, Storage> storages = new LinkedHashMap<>();

    /** A storage met while the pickle is written. */
    private record Storage(PyStr number, PyGlobal type, long elements, long bytes) {}

    private TorchImage(PyValue root) {
        this.root = root;
    }

    /** Starts the layout of a file that holds this object. */
    public static TorchImage of(PyValue root) {
        return new TorchImage(root);
    }

    /** Puts the records into another folder than {@value #DEFAULT_FOLDER}. */
    public TorchImage inFolder(String name) {
        if (name.isEmpty() || name.indexOf('/') >= 0 || name.indexOf('\\') >= 0) {
            throw new IllegalArgumentException("folder \"" + name + "\"");
        }
        folder = name;
        return this;
    }

    /** Aligns data to another number of bytes than 64. */
    public TorchImage alignedTo(int bytes) {
        alignment = bytes;
        return this;
    }

    /** Writes other nodes in place of some of the object's, by identity. */
    public TorchImage replacing(Map<PyValue, PyValue> nodes) {
        substitutes.putAll(nodes);
        return this;
    }

    /** Adds a record after those of PyTorch; {@code name} is without the folder. */
    public TorchImage withRecord(String name, byte[] content) {
        extraRecords.put(name, content);
        return this;
    }

    /**
     * The finished layout of a file at this path.
     *
     * @throws CheckpointException if the graph cannot be written, or refers to storages in contradictory ways
     */
    public FileImage build(String path) throws CheckpointException {
        storages.clear();
        byte[] pickle = PickleWriter.write(root, this::number, substitutes);
        ZipLayout zip = new ZipLayout(alignment);
        zip.record(folder + "/data.pkl", pickle);
        // Allowed because storages follow in the order of first use and are laid out as PyTorch computes it.
        zip.record(folder + "/.format_version", ascii("1"));
        zip.record(folder + "/.storage_alignment", ascii(Integer.toString(alignment)));
        zip.record(folder + "/byteorder", ascii("little"));
        storages.forEach(
                (key, storage) -> zip.slot(folder + "/data/" + storage.number().value(), key, storage.bytes()));
        zip.record(folder + "/version", ascii("3\n"));
        extraRecords.forEach((name, content) -> zip.record(folder + "/" + name, content));
        return zip.finish(path);
    }

    /** The id with the storage's number in place of its key. */
    private PyValue number(PyPersistent reference) throws CheckpointException {
        if (!(reference.id() instanceof PyTuple id)
                || id.items().size() < 5
                || !(id.items().get(1) instanceof PyGlobal type)
                || !StorageTypes.isStorage(type)
                || !(id.items().get(4) instanceof PyInt count)) {
            throw refused("the object refers to something outside itself that is no storage");
        }
        String key = PythonText.string(id.items().get(2))
                .orElseThrow(() -> refused("the object refers to a storage without a name"));
        long elements = count.asLong().orElse(-1);
        PyValue written = count;
        if (id.items().size() == 6
                && id.items().get(5) instanceof PyTuple view
                && view.items().size() == 3) {
            // A view of another storage: in archives it is a storage of its own.
            key = PythonText.str(view.items().get(0));
            elements = view.items().get(2) instanceof PyInt size ? size.asLong().orElse(-1) : -1;
            written = view.items().get(2);
        }
        Storage storage = storage(key, type, elements);
        PyValue location = id.items().get(3);
        return PyTuple.of(id.items().get(0), type, storage.number(), location, written);
    }

    private Storage storage(String key, PyGlobal type, long elements) throws CheckpointException {
        Storage seen = storages.get(key);
        if (seen == null) {
            Optional<DType> elementType = StorageTypes.elementType(type);
            int itemSize = StorageTypes.itemSize(elementType);
            if (elements < 0 || elements > Long.MAX_VALUE / itemSize) {
                throw refused("storage " + key + " has an impossible number of elements");
            }
            seen = new Storage(new PyStr(Integer.toString(storages.size())), type, elements, elements * itemSize);
            storages.put(key, seen);
        } else if (!seen.type().equals(type) || seen.elements() != elements) {
            throw refused("storage " + key + " is referred to with two types or sizes");
        }
        return seen;
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(CheckpointException.Kind.REFUSED, "", problem);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
