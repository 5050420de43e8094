package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.safetensors.SafetensorsEntry;
import dev.shardsmith.formats.safetensors.SafetensorsFile;
import dev.shardsmith.formats.safetensors.SafetensorsFile.TrailingBytes;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.formats.torch.TorchTensor;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpaqueItem;
import dev.shardsmith.reshard.view.PlainValues;
import dev.shardsmith.reshard.view.TensorForm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The named tensors of a set of files with weights, PyTorch's or safetensors.
 *
 * @param tensors views by name, in the order of the files
 * @param sharedWith names of tensors that lie on the very bytes of another, with that other's name
 * @param owners the file of each tensor
 * @param others names of what the files hold besides
 * @param unreadable names of tensors of types that are not known, with the reason
 * @param warnings what else the user has to know
 * @param forms what the elements of tensors do not tell, by name
 * @param values what each PyTorch file holds besides tensors
 * @param places where each PyTorch file has its tensors
 */
record WeightFiles(
        Map<String, StoredTensor> tensors,
        Map<String, String> sharedWith,
        Map<String, Path> owners,
        List<String> others,
        Map<String, String> unreadable,
        List<String> warnings,
        Map<String, TensorForm> forms,
        List<PlainValues.Source> values,
        List<NestedPaths> places) {
    /** Where in its file a tensor's bytes begin, which two names may share; {@code part} where the bytes are in memory. */
    private record Place(String part, long offset, Shape shape) {
        static Place of(StoredTensor data) {
            Optional<ByteSource.FileRange> range = data.source().inFile();
            return range.isPresent()
                    ? new Place("", range.get().offset() + data.offset(), data.shape())
                    : new Place(data.source().name(), data.offset(), data.shape());
        }

        // Written out: a listing of very many tensors has no time to link the generated ones.
        @Override
        public boolean equals(Object other) {
            return other instanceof Place that
                    && offset == that.offset
                    && shape.equals(that.shape)
                    && part.equals(that.part);
        }

        @Override
        public int hashCode() {
            return 31 * Long.hashCode(offset) + part.hashCode();
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
                new ArrayList<>(),
                new LinkedHashMap<>(),
                new ArrayList<>(),
                new ArrayList<>());
        for (Path path : files) {
            if (SafetensorsFile.looksLike(pool.file(path))) {
                weights.addSafetensors(pool, path, trailing);
            } else {
                weights.addTorch(pool, path);
            }
        }
        return weights;
    }

    private void add(Path path, String name, StoredTensor data) throws CheckpointException {
        tensors.put(name, data);
        Path earlier = owners.put(name, path);
        if (earlier != null && !earlier.equals(path)) {
            throw CheckpointException.of(
                    Kind.INCONSISTENT, path.toString(), "tensor " + name + " is also in " + earlier.getFileName());
        }
    }

    /** Tells a view of what is no plain tensor, and which names share their bytes. */
    void describe(ModelViewBuilder view) {
        warnings.forEach(view::addWarning);
        tellUnreadable(view);
        others.forEach(name -> view.addItem(new OpaqueItem(name, List.of(new PyStr(name)), Optional.empty())));
        sharedWith.forEach(view::addShared);
        forms.forEach(view::addForm);
        values.forEach(view::addValues);
    }

    /** Tensors that cannot be read are missing to a conversion, and no reason not to look at the others. */
    void tellUnreadable(ModelViewBuilder view) {
        unreadable.forEach((name, reason) -> {
            view.addMissing(name, reason);
            view.addWarning(name + (tensors.containsKey(name) ? " is not unique: " : " is not shown: ") + reason);
        });
    }

    /** Shapes by name. */
    Map<String, Shape> shapes() {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> shapes.put(name, tensor.shape()));
        return shapes;
    }

    private void addSafetensors(FilePool pool, Path path, TrailingBytes trailing) throws IOException {
        SafetensorsFile file = SafetensorsFile.open(pool.file(path), trailing);
        if (file.trailingBytes() > 0) {
            warnings.add(path.getFileName() + ": " + file.trailingBytes()
                    + " bytes after the last tensor are left out of account");
        }
        for (SafetensorsEntry entry : file.entries()) {
            // The format has no two tensors on the same bytes.
            if (entry.dtype().isPresent()) {
                add(path, entry.name(), entry.tensor());
            } else {
                unreadable.put(entry.name(), "its element type " + entry.code() + " is not known");
            }
        }
    }

    private void addTorch(FilePool pool, Path path) throws IOException {
        TorchFile file = TorchFile.open(pool, path);
        others.addAll(NonTensors.of(file));
        values.add(() -> values(file));
        places.add(new NestedPaths(file));
        Map<Place, String> places = new HashMap<>();
        for (NamedTensor tensor : file.tensors()) {
            Optional<StoredTensor> data = plain(tensor.tensor());
            Optional<TensorForm> form = TensorForms.of(file, tensor.tensor(), data.isPresent());
            if (form.isPresent()) {
                forms.putIfAbsent(tensor.name(), form.get());
            }
            if (data.isEmpty()) {
                others.add(tensor.name());
                warnings.add(leftOut(tensor));
                continue;
            }
            StoredTensor earlier = path.equals(owners.get(tensor.name())) ? tensors.get(tensor.name()) : null;
            if (earlier != null) {
                if (!isSame(earlier, data.get())) {
                    unreadable.put(tensor.name(), "two tensors of the file have this name, of which this is the first");
                }
                continue;
            }
            add(path, tensor.name(), data.get());
            if (data.get().shape().elements() > 0) {
                String first = places.putIfAbsent(Place.of(data.get()), tensor.name());
                if (first != null) {
                    sharedWith.put(tensor.name(), first);
                }
            }
        }
    }

    private static PlainValues values(TorchFile file) {
        Set<PyValue> nodes = Collections.newSetFromMap(new IdentityHashMap<>());
        file.tensors().forEach(tensor -> nodes.add(tensor.node()));
        return new PlainValues("", file.root(), nodes, Map.of());
    }

    /** True for the same elements of the same bytes. */
    private static boolean isSame(StoredTensor one, StoredTensor other) {
        return one.dtype() == other.dtype()
                && Place.of(one).equals(Place.of(other))
                && Arrays.equals(one.strides(), other.strides())
                && one.conjugate() == other.conjugate()
                && one.negative() == other.negative();
    }

    private static String leftOut(NamedTensor named) {
        TorchTensor tensor = named.tensor();
        String kind = TensorForms.kind(tensor);
        return named.name() + " is left out: " + (kind.startsWith("u") ? "an " : "a ") + kind + " tensor, "
                + TensorForms.type(tensor) + " " + tensor.shape() + ", without elements that can be read one by one";
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
