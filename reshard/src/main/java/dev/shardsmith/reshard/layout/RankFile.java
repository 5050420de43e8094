package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TensorKind;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.formats.torch.TorchTensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** One rank's {@code model_optim_rng.pt}: a dict of state with the model, or one model per virtual stage, in it. */
final class RankFile {
    private static final Pattern CHUNK = Pattern.compile("model\\d*");
    private static final Pattern MODEL_OR_OPTIMIZER = Pattern.compile("(model\\d*|optimizer)[.\\[<].*", Pattern.DOTALL);

    private static final Set<String> DICTS = Set.of("OrderedDict", "defaultdict", "Counter");

    /** Nested dicts of the oldest models are four deep. */
    private static final int DEEPEST = 8;

    private final TorchFile file;
    private final String name;
    private final Map<String, PyValue> entries = new LinkedHashMap<>();

    private RankFile(TorchFile file, String name) {
        this.file = file;
        this.name = name;
    }

    /** Opens a rank's file; reads its directory and pickle only. */
    static RankFile open(FilePool pool, Path path, String name) throws IOException {
        RankFile rank = new RankFile(TorchFile.open(pool, path), name);
        List<PyEntry> items = items(rank.file.root())
                .orElseThrow(() -> CheckpointException.of(
                        Kind.UNSUPPORTED, name, "the file holds no dict of a training checkpoint"));
        for (PyEntry entry : items) {
            if (entry.key() instanceof PyStr key) {
                rank.entries.put(key.value(), entry.value());
            }
        }
        return rank;
    }

    /** The name for messages. */
    String name() {
        return name;
    }

    /** The top-level entries in order, those of the model included. */
    Map<String, PyValue> entries() {
        return entries;
    }

    /** Keys of the model's chunks in order: {@code model}, or {@code model0}, {@code model1}, …. */
    List<String> chunkKeys() {
        List<String> keys = new ArrayList<>();
        for (String key : entries.keySet()) {
            if (CHUNK.matcher(key).matches()) {
                keys.add(key);
            }
        }
        keys.sort((a, b) -> a.length() != b.length() ? a.length() - b.length() : a.compareTo(b));
        return keys;
    }

    /** The entries of one chunk of the model, by local key, in order. */
    Map<String, PyValue> chunk(String key) throws CheckpointException {
        List<PyEntry> items = items(entries.get(key))
                .orElseThrow(() -> CheckpointException.of(
                        Kind.UNSUPPORTED, name, "its entry '" + key + "' is no dict of tensors"));
        Map<String, PyValue> chunk = new LinkedHashMap<>();
        flatten("", items, chunk, 0);
        return chunk;
    }

    /** Models from before the core library lie in nested dicts: {@code language_model}, {@code encoder}, keys of parameters. */
    private void flatten(String prefix, List<PyEntry> items, Map<String, PyValue> chunk, int depth)
            throws CheckpointException {
        if (depth > DEEPEST) {
            throw CheckpointException.of(
                    Kind.LIMIT, name, "dicts of the model are nested more than " + DEEPEST + " deep");
        }
        for (PyEntry item : items) {
            if (!(item.key() instanceof PyStr text)) {
                continue;
            }
            String key = prefix + text.value();
            Optional<List<PyEntry>> inner = items(item.value());
            if (inner.isPresent()) {
                flatten(key + ".", inner.get(), chunk, depth + 1);
            } else {
                chunk.put(key, item.value());
            }
        }
    }

    /** The entries of a dict or of an object of a class that behaves as one: OrderedDict, defaultdict, anybody's own. */
    static Optional<List<PyEntry>> items(PyValue value) {
        if (value instanceof PyDict dict) {
            return Optional.of(dict.entries());
        }
        if (!(value instanceof PyObject object)) {
            return Optional.empty();
        }
        boolean known = object.callable() instanceof PyGlobal global
                && global.module().equals("collections")
                && DICTS.contains(global.name());
        return known || !object.entries().isEmpty() ? Optional.of(object.entries()) : Optional.empty();
    }

    /** The strided view of a tensor's node, if the node is a plain tensor. */
    Optional<StoredTensor> tensor(PyValue node) throws IOException {
        return file.tensor(node)
                .filter(tensor -> tensor.kind() == TensorKind.STRIDED)
                .flatMap(TorchTensor::data);
    }

    /** Sizes in bytes of the optimizer's tensors. */
    List<Long> optimizerTensors() {
        return file.tensors().stream()
                .filter(tensor -> tensor.name().startsWith("optimizer"))
                .flatMap(tensor -> tensor.tensor().data().stream())
                .map(StoredTensor::bytes)
                .toList();
    }

    /** The tensors outside of the model and the optimizer, by their node. */
    Map<PyValue, StoredTensor> stateTensors() {
        Map<PyValue, StoredTensor> tensors = new LinkedHashMap<>();
        for (NamedTensor tensor : file.tensors()) {
            if (!MODEL_OR_OPTIMIZER.matcher(tensor.name()).matches()) {
                tensor.tensor().data().ifPresent(data -> tensors.put(tensor.node(), data));
            }
        }
        return tensors;
    }
}
