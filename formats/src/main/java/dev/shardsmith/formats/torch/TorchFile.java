package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.Unpickled;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A file written by {@code torch.save}: an object graph, and the tensors in it.
 *
 * <p>Opening reads the directory and the pickle; elements of tensors are read only when asked for, from where they lie.
 * Nothing of what the pickle asks to import or call is done.
 */
public final class TorchFile {
    /** How the file is built. */
    public enum Container {
        ZIP,
        LEGACY,
        PICKLE
    }

    /** The share of the memory that names may take: a character has two bytes, and a name has others around it. */
    private static final int BYTES_PER_NAME_CHARACTER = 4;

    private final Container container;
    private final ByteSource source;
    private final Unpickled pickle;
    private final TensorInterpreter interpreter;
    private final StorageInterpreter storages;
    private final Optional<TorchArchive> archive;
    private final List<String> warnings;
    private final List<NamedTensor> tensors;

    private TorchFile(
            Container container,
            ByteSource source,
            Unpickled pickle,
            StorageInterpreter storages,
            Optional<TorchArchive> archive,
            List<String> warnings,
            TorchLimits limits)
            throws IOException {
        this.container = container;
        this.source = source;
        this.pickle = pickle;
        this.storages = storages;
        this.interpreter = new TensorInterpreter(source, storages);
        this.archive = archive;
        this.warnings = List.copyOf(warnings);
        long names = limits.pickle().graphBytes() / BYTES_PER_NAME_CHARACTER;
        this.tensors = List.copyOf(TensorNames.find(pickle.value(), interpreter, source.name(), names));
    }

    /** Opens a file within the default limits. */
    public static TorchFile open(FilePool files, Path path) throws IOException {
        return open(files.file(path));
    }

    /** Opens a file, or a part of one, within the default limits. */
    public static TorchFile open(ByteSource source) throws IOException {
        return open(source, TorchLimits.defaults());
    }

    /**
     * Opens a file, or a part of one.
     *
     * @throws CheckpointException if it is no such file, is damaged, or is beyond a limit
     */
    public static TorchFile open(ByteSource source, TorchLimits limits) throws IOException {
        if (TorchArchive.isArchive(source)) {
            return openArchive(source, limits);
        }
        FileKind kind = FileKind.detect(source);
        return switch (kind) {
            case TORCH_LEGACY -> openStream(source, limits);
            case PICKLE -> openPickle(source, limits);
            case TORCH_ZIP,
                    TORCH_TAR,
                    TORCH_PREVIEW,
                    TORCHSCRIPT,
                    TORCH_PACKAGE,
                    TORCH_EXPORT,
                    SAFETENSORS,
                    NUMPY_ARRAY,
                    NUMPY_ARCHIVE,
                    OTHER_ZIP,
                    GZIP,
                    HDF5,
                    GGUF,
                    HTML,
                    GIT_LFS_POINTER,
                    TEXT,
                    EMPTY,
                    UNKNOWN -> throw kind.refusal(source);
        };
    }

    private static TorchFile openArchive(ByteSource source, TorchLimits limits) throws IOException {
        TorchArchive archive = TorchArchive.open(source, limits);
        StorageInterpreter storages = new StorageInterpreter(source, archive::storage, limits);
        return new TorchFile(
                Container.ZIP, source, archive.pickle(), storages, Optional.of(archive), archive.warnings(), limits);
    }

    private static TorchFile openStream(ByteSource source, TorchLimits limits) throws IOException {
        LegacyStream stream = LegacyStream.read(source, limits);
        List<String> warnings = new ArrayList<>();
        if (stream.trailingBytes() > 0) {
            warnings.add(stream.trailingBytes() + " bytes follow the last storage");
        }
        return new TorchFile(
                Container.LEGACY, source, stream.object(), stream.storages(), Optional.empty(), warnings, limits);
    }

    private static TorchFile openPickle(ByteSource source, TorchLimits limits) throws IOException {
        DangerousCalls calls = new DangerousCalls();
        Unpickled pickle = PickleReader.read(source, 0, limits.pickle(), calls);
        calls.refuse(source.name());
        StorageInterpreter storages = new StorageInterpreter(
                source,
                (id, view) -> {
                    throw CheckpointException.of(
                            CheckpointException.Kind.MALFORMED,
                            source.name(),
                            "the pickle refers to storage " + id.key() + " outside itself");
                },
                limits);
        TorchFile file = new TorchFile(Container.PICKLE, source, pickle, storages, Optional.empty(), List.of(), limits);
        if (file.tensors.isEmpty() && file.storages().isEmpty()) {
            throw FileKind.PICKLE.refusal(source);
        }
        return file;
    }

    /** How the file is built. */
    public Container container() {
        return container;
    }

    /** The file, or the part of one, that this is. */
    public ByteSource source() {
        return source;
    }

    /** The object that was saved. */
    public PyValue root() {
        return pickle.value();
    }

    Unpickled pickle() {
        return pickle;
    }

    /** The protocol that the pickle announces. */
    public int protocol() {
        return pickle.protocol();
    }

    /** All tensors, in the order of the file, each under its path; a part of a tensor comes before it. */
    public List<NamedTensor> tensors() {
        return tensors;
    }

    /** The tensor that a node of the graph is, if it is one. */
    public Optional<TorchTensor> tensor(PyValue node) throws IOException {
        return interpreter.of(node);
    }

    /** The storage that a node of the graph names, if it does. */
    public Optional<TorchStorage> storage(PyValue node) throws IOException {
        return storages.of(node);
    }

    /** The storages of the file, in the order of first use. */
    public List<TorchStorage> storages() {
        return storages.all();
    }

    /** The folder inside an archive; empty for other containers. */
    public String folder() {
        return archive.map(TorchArchive::folder).orElse("");
    }

    /** What is odd about the file, but does not stand in the way. */
    public List<String> warnings() {
        return warnings;
    }

    /**
     * Reads every record of an archive and compares its CRC-32.
     *
     * @return names of records whose CRC was not recorded, as PyTorch allows
     * @throws CheckpointException if a record has another CRC than the archive says
     */
    public List<String> verifyCrc() throws IOException {
        return archive.isPresent() ? archive.get().verifyCrc() : List.of();
    }
}
