package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.safetensors.SafetensorsEntry;
import dev.shardsmith.formats.safetensors.SafetensorsFile;
import dev.shardsmith.formats.safetensors.SafetensorsFile.TrailingBytes;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.formats.torch.TorchTensor;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpaqueItem;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The named tensors of a set of files with weights, PyTorch's or safetensors.
 *
 * @param tensors views by name, in the order of the files
 * @param sharedWith names of tensors that lie on the very bytes of another, with that other's name
 * @param owners the file of each tensor
 * @param others names of what the files hold besides
 * @param unreadable names of tensors of types that are not known, with the reason
 * @param warnings what else the user has to know
 */
record WeightFiles(
        Map<String, StoredTensor> tensors,
        Map<String, String> sharedWith,
        Map<String, Path> owners,
        List<String> others,
        Map<String, String> unreadable,
        List<String> warnings) {
    /** Where a tensor's bytes begin, which two names may share. */
    private record Place(Path path, Optional<String> part, long offset, Shape shape) {
        static Place of(Path path, StoredTensor data) {
            Optional<ByteSource.FileRange> range = data.source().inFile();
            return range.isPresent()
                    ? new Place(path, Optional.empty(), range.get().offset() + data.offset(), data.shape())
                    : new Place(path, Optional.of(data.source().name()), data.offset(), data.shape());
        }
    }

    /** Opens files and lists their tensors, as the safetensors format has them: with no byte after the last one. */
    static WeightFiles open(FilePool pool, List<Path> files) throws IOException {
        return open(pool, files, TrailingBytes.REFUSE);
    }

    /** Opens files and lists their tensors; reads headers and pickles only. */
    static WeightFiles open(FilePool pool, List<Path> files, TrailingBytes trailing) throws IOException {
        WeightFiles weights = new WeightFiles(
                new LinkedHashMap<>(),
                new LinkedHashMap<>(),
                new LinkedHashMap<>(),
                new ArrayList<>(),
                new LinkedHashMap<>(),
                new ArrayList<>());
        Map<Place, String> places = new LinkedHashMap<>();
        for (Path path : files) {
            Map<String, StoredTensor> found = SafetensorsFile.looksLike(pool.file(path))
                    ? safetensors(pool, path, weights, trailing)
                    : torch(pool, path, weights);
            for (Map.Entry<String, StoredTensor> entry : found.entrySet()) {
                Path earlier = weights.owners().putIfAbsent(entry.getKey(), path);
                if (earlier != null) {
                    throw CheckpointException.of(
                            Kind.INCONSISTENT,
                            path.toString(),
                            "tensor " + entry.getKey() + " is also in " + earlier.getFileName());
                }
                weights.tensors().put(entry.getKey(), entry.getValue());
                StoredTensor data = entry.getValue();
                if (data.shape().elements() > 0) {
                    String first = places.putIfAbsent(Place.of(path, data), entry.getKey());
                    if (first != null) {
                        weights.sharedWith().put(entry.getKey(), first);
                    }
                }
            }
        }
        return weights;
    }

    /** Tells a view of what is no plain tensor, and which names share their bytes. */
    void describe(ModelViewBuilder view) {
        warnings.forEach(view::addWarning);
        tellUnreadable(view);
        others.forEach(name -> view.addItem(new OpaqueItem(name, List.of(new PyStr(name)), Optional.empty())));
        sharedWith.forEach(view::addShared);
    }

    /** Tensors that cannot be read are missing to a conversion, and no reason not to look at the others. */
    void tellUnreadable(ModelViewBuilder view) {
        unreadable.forEach((name, reason) -> {
            view.addMissing(name, reason);
            view.addWarning(name + " is not shown: " + reason);
        });
    }

    /** Shapes by name. */
    Map<String, Shape> shapes() {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> shapes.put(name, tensor.shape()));
        return shapes;
    }

    private static Map<String, StoredTensor> safetensors(
            FilePool pool, Path path, WeightFiles weights, TrailingBytes trailing) throws IOException {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        SafetensorsFile file = SafetensorsFile.open(pool.file(path), trailing);
        if (file.trailingBytes() > 0) {
            weights.warnings()
                    .add(path.getFileName() + ": " + file.trailingBytes()
                            + " bytes after the last tensor are left out of account");
        }
        for (SafetensorsEntry entry : file.entries()) {
            if (entry.dtype().isPresent()) {
                tensors.put(entry.name(), entry.tensor());
            } else {
                weights.unreadable().put(entry.name(), "its element type " + entry.code() + " is not known");
            }
        }
        return tensors;
    }

    private static Map<String, StoredTensor> torch(FilePool pool, Path path, WeightFiles weights) throws IOException {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        TorchFile file = TorchFile.open(pool, path);
        weights.others().addAll(NonTensors.of(file));
        for (NamedTensor tensor : file.tensors()) {
            Optional<StoredTensor> data = plain(tensor.tensor());
            if (data.isPresent()) {
                tensors.put(tensor.name(), data.get());
            } else {
                weights.others().add(tensor.name());
                weights.warnings().add(leftOut(tensor));
            }
        }
        return tensors;
    }

    private static String leftOut(NamedTensor named) {
        TorchTensor tensor = named.tensor();
        String kind = tensor.kind().name().toLowerCase(Locale.ROOT);
        String type = tensor.dtype().map(DType::shortName).orElse("unknown type");
        return named.name() + " is left out: a " + kind + " tensor, " + type + " " + tensor.shape()
                + ", without elements that can be read one by one";
    }

    private static Optional<StoredTensor> plain(TorchTensor tensor) {
        return switch (tensor.kind()) {
            case STRIDED, QUANTIZED -> tensor.data();
            case SPARSE_COO,
                    SPARSE_CSR,
                    SPARSE_CSC,
                    SPARSE_BSR,
                    SPARSE_BSC,
                    NESTED,
                    META,
                    SUBCLASS,
                    FOREIGN,
                    UNINITIALIZED -> Optional.empty();
        };
    }
}
