package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.NemotronLayers;
import dev.shardsmith.reshard.family.NemotronNames;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a Hugging Face folder has no place for: Megatron's saved options, its names, its state.
 *
 * <p>Written beside the weights as {@value #FILE}, which Hugging Face ignores, so that going back to Megatron restores everything.
 *
 * @param state the state, if there is a sidecar that belongs to this model
 * @param names canonical names as the Megatron checkpoint had them, in order
 * @param extraStates opaque module states
 * @param iterationFolder name of the iteration's folder
 */
record MegatronSidecar(
        Optional<ModelState> state,
        List<String> names,
        List<ExtraState> extraStates,
        Optional<String> iterationFolder) {
    /** The file's name in the folder. */
    static final String FILE = "megatron_state.pt";

    private static final String NAMES = "shardsmith_names";
    private static final String EXTRA_STATES = "shardsmith_extra_states";
    private static final String ITERATION_FOLDER = "shardsmith_iteration_folder";

    /** Reads the sidecar of a folder, if it has one whose pattern is that of the model. */
    static MegatronSidecar read(FilePool pool, Path folder, NemotronLayers layers) throws IOException {
        MegatronSidecar none = new MegatronSidecar(Optional.empty(), List.of(), List.of(), Optional.empty());
        Path path = folder.resolve(FILE);
        if (!Files.isRegularFile(path)) {
            return none;
        }
        TorchFile file = TorchFile.open(pool, path);
        if (!(file.root() instanceof PyDict root)) {
            return none;
        }
        Map<PyValue, StoredTensor> tensors = new LinkedHashMap<>();
        for (NamedTensor tensor : file.tensors()) {
            tensor.tensor().data().ifPresent(data -> tensors.put(tensor.node(), data));
        }
        Map<String, PyValue> entries = new LinkedHashMap<>();
        for (PyEntry entry : root.entries()) {
            if (entry.key() instanceof PyStr key && !key.value().startsWith("shardsmith_")) {
                entries.put(key.value(), entry.value());
            }
        }
        List<ExtraState> extraStates = new ArrayList<>();
        if (root.get(EXTRA_STATES).orElse(PyNone.NONE) instanceof PyDict extras) {
            for (PyEntry entry : extras.entries()) {
                if (entry.key() instanceof PyStr key) {
                    extraStates.add(new ExtraState(
                            key.value(), entry.value(), Optional.ofNullable(tensors.remove(entry.value()))));
                }
            }
        }
        ModelState state = new ModelState(entries, tensors);
        Optional<String> saved = state.args().flatMap(MegatronArgs::pattern);
        if (saved.isPresent()
                && !NemotronLayers.of(HybridPattern.parse(saved.get())).equals(layers)) {
            return none;
        }
        return new MegatronSidecar(
                Optional.of(state), strings(root.get(NAMES)), extraStates, text(root.get(ITERATION_FOLDER)));
    }

    /** The sidecar of a folder to be written. */
    static FileImage image(ModelView source, Map<String, PyValue> entries, List<String> names, TargetLayout layout)
            throws CheckpointException {
        ArchiveContent content = new ArchiveContent(FILE, layout);
        PyDict root = new PyDict();
        entries.forEach(root::put);
        List<PyValue> list = new ArrayList<>();
        names.forEach(name -> list.add(new PyStr(name)));
        root.put(NAMES, new PyList(list));
        PyDict extras = new PyDict();
        for (ExtraState extra : source.extraStates()) {
            PyValue value = extra.tensor().isPresent()
                    ? content.copy(extra.name(), extra.tensor().get())
                    : extra.value();
            extras.put(extra.name(), value);
        }
        root.put(EXTRA_STATES, extras);
        source.iterationFolder().ifPresent(folder -> root.put(ITERATION_FOLDER, new PyStr(folder)));
        content.copyTensors(source.state().tensors());
        return content.image(root, FILE.substring(0, FILE.indexOf('.')));
    }

    /** Shapes under the names that the Megatron checkpoint had; without a sidecar they stay as they are. */
    Map<String, Shape> named(Map<String, Shape> shapes, NemotronNames nemotron) {
        if (names.isEmpty()) {
            return shapes;
        }
        Map<List<String>, Shape> byOther = new LinkedHashMap<>();
        shapes.forEach((name, shape) -> byOther.put(nemotron.names(MegatronName.parse(name)), shape));
        Map<String, Shape> renamed = new LinkedHashMap<>();
        for (String name : names) {
            Shape shape = byOther.remove(nemotron.names(MegatronName.parse(name)));
            if (shape != null) {
                renamed.put(name, shape);
            }
        }
        return byOther.isEmpty() ? renamed : shapes;
    }

    private static List<String> strings(Optional<PyValue> value) {
        List<String> texts = new ArrayList<>();
        if (value.orElse(PyNone.NONE) instanceof PyList list) {
            for (PyValue item : list.items()) {
                text(Optional.of(item)).ifPresent(texts::add);
            }
        }
        return texts;
    }

    private static Optional<String> text(Optional<PyValue> value) {
        return value.orElse(PyNone.NONE) instanceof PyStr text ? Optional.of(text.value()) : Optional.empty();
    }
}
