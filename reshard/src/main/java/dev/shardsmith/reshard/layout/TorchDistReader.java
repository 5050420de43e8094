package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpPiece;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.formats.pickle.PyBytes;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.FileKind;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.family.DistKeys;
import dev.shardsmith.reshard.family.DistNames;
import dev.shardsmith.reshard.family.DistSource;
import dev.shardsmith.reshard.family.DistTensors;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpaqueItem;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.Parallelism;
import dev.shardsmith.reshard.view.PlainValues;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;

/**
 * Opens a Megatron {@code torch_dist} checkpoint, or another distributed checkpoint with Megatron's keys.
 *
 * <p>Keys are global there: neither tensor nor pipeline parallelism shows but in the chunks.
 */
final class TorchDistReader {
    private static final String COMMON = "common_state/shard_0_1";
    private static final String EXTRA = "._extra_state/shard_";

    /** The state of {@code metadata.json}, which Megatron writes when all else is there. */
    enum Commit {
        WHOLE,
        DAMAGED,
        ABSENT
    }

    private final FilePool pool;
    private final OpenOptions options;
    private final ModelViewBuilder view;
    private final DcpCheckpoint checkpoint;
    private final Map<String, PyValue> entries = new LinkedHashMap<>();
    private final Map<PyValue, StoredTensor> stateTensors = new LinkedHashMap<>();
    /** How the last tensor was divided, in words: mostly the next one is divided so too. */
    private String division = "";

    private int lastChunks = -1;

    private final Path folder;
    private String prefix = "";

    private TorchDistReader(Path shown, Path folder, FilePool pool, OpenOptions options) throws IOException {
        this.pool = pool;
        this.options = options;
        this.folder = folder;
        this.view = new ModelViewBuilder(shown, pool, ModelView.Layout.TORCH_DIST);
        this.checkpoint = DcpCheckpoint.open(pool, folder);
    }

    /**
     * Opens one iteration's folder.
     *
     * @param shown the path that the user gave
     * @param folder the folder with {@code .metadata}
     * @param commit how {@code metadata.json} was found
     */
    static ModelView read(Path shown, Path folder, Commit commit, FilePool pool, OpenOptions options)
            throws IOException {
        return new TorchDistReader(shown, folder, pool, options).read(commit);
    }

    /** True if the keys are those of a Megatron model. */
    static boolean isMegatron(DcpCheckpoint checkpoint) {
        return checkpoint.tensors().stream().anyMatch(tensor -> TorchDistKeys.isOfModel(tensor.name()));
    }

    private ModelView read(Commit commit) throws IOException {
        readCommonState();
        if (commit == Commit.DAMAGED) {
            view.addWarning("metadata.json is damaged: it names no form of the data; Megatron would not load this"
                    + " checkpoint, and a crash while it was saved may have left it so");
        }
        boolean megatron = isMegatron(checkpoint);
        if (megatron && commit == Commit.ABSENT) {
            view.addWarning(
                    "there is no metadata.json, which Megatron writes last: to Megatron the checkpoint is unfinished");
        }
        view.iterationFolder(folder.toAbsolutePath().normalize().getFileName().toString());
        return megatron ? megatron() : plain();
    }

    /** Tensors of no known model, under their own names, list items in brackets, and in their own order. */
    private ModelView plain() throws IOException {
        Map<String, String> keys = new HashMap<>();
        for (DcpTensor tensor : checkpoint.tensors()) {
            String shown = NestedPaths.nameOf(checkpoint, tensor.name());
            boolean renamed = !shown.equals(tensor.name()) && keys.putIfAbsent(shown, tensor.name()) == null;
            String name = renamed ? shown : tensor.name();
            if (tensor.dtype().isEmpty()) {
                String reason = "its element type " + tensor.dtypeName() + " is not known";
                view.addMissing(name, reason);
                view.addWarning(name + " is not shown: " + reason);
                continue;
            }
            view.addDistinct(LogicalTensor.lazy(
                    name, dtype(tensor), tensor.logicalShape(), division(tensor), () -> pieces(tensor)));
        }
        view.paths(name -> checkpoint.path(keys.getOrDefault(name, name)));
        for (String name : checkpoint.objects()) {
            view.addItem(new OpaqueItem(name, checkpoint.path(name), Optional.of(() -> checkpoint.objectBytes(name))));
            view.addValues(() -> values(name));
        }
        ModelState state = new ModelState(entries, stateTensors);
        view.addRank(new RankShard(0, 0, 0, 0, view.tensors(), state));
        return view.family(ModelView.Family.PLAIN)
                .description("PyTorch distributed checkpoint")
                .state(state)
                .build();
    }

    /** An object, or the bytes of an {@code io.BytesIO}, which PyTorch stores as they are. */
    private PlainValues values(String name) throws IOException {
        ByteSource bytes = checkpoint.objectBytes(name);
        FileKind kind = FileKind.detect(bytes);
        if (kind != FileKind.TORCH_ZIP && kind != FileKind.TORCH_LEGACY) {
            PyBytes content = new PyBytes(PyBytes.Kind.BYTES, bytes.readBytes(0, Math.toIntExact(bytes.size())));
            return new PlainValues(place(name), content, Set.of(), Map.of());
        }
        TorchFile file = TorchFile.open(bytes);
        Map<PyValue, StoredTensor> held = new IdentityHashMap<>();
        for (NamedTensor tensor : file.tensors()) {
            tensor.tensor().data().ifPresent(data -> held.put(tensor.node(), data));
        }
        return new PlainValues(place(name), file.root(), Set.of(), held);
    }

    /** Where an object is in the nested state dict, in the words of a file that holds it whole. */
    private String place(String name) {
        StringBuilder place = new StringBuilder();
        for (PyValue part : checkpoint.path(name)) {
            if (part instanceof PyStr key) {
                place.append(place.isEmpty() ? "" : ".").append(key.value());
            } else {
                place.append('[').append(part).append(']');
            }
        }
        return place.toString();
    }

    private static List<Piece> pieces(DcpTensor tensor) throws IOException {
        List<Piece> pieces = new ArrayList<>();
        DistSource whole = new DistSource(0, new long[0], 0);
        for (DcpPiece chunk : tensor.pieces()) {
            addPiece(whole, chunk, pieces);
        }
        return pieces;
    }

    /** Bytes of a tensor of a known type; the size of any other is not known. */
    private static long bytes(DcpTensor tensor) {
        return tensor.dtype()
                .map(type -> type.bytes(tensor.logicalShape().elements()))
                .orElse(0L);
    }

    private static DType dtype(DcpTensor tensor) throws CheckpointException {
        return tensor.dtype()
                .orElseThrow(() -> CheckpointException.of(
                        Kind.UNSUPPORTED, tensor.name(), "its element type " + tensor.dtypeName() + " is not known"));
    }

    private ModelView megatron() throws IOException {
        Optional<MegatronArgs> args = Optional.ofNullable(entries.get("args")).flatMap(MegatronArgs::of);
        boolean newest = checkpoint.hasObject(COMMON);
        TorchDistKeys stored = modelTensors();
        DistNames modelNames = DistNames.of(args, DistKeys.isTransformer(stored), newest);
        Map<String, ExtraState> extraStates = extraStates(modelNames);
        DistTensors tensors = DistKeys.read(stored, modelNames, extraStates.keySet());
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.isOther(i)) {
                view.addExtraState(extraStates.get(tensors.name(i)));
            } else {
                view.addDistinct(tensor(tensors, i, stored));
            }
        }
        if (DistKeys.isAnyStacked(stored)) {
            view.stackedLayers();
        }
        boolean gated = args.map(given -> given.flag("swiglu", false)).orElse(false);
        tensors.unknown(gated, options.rules()).forEach(view::addUnknown);
        view.optimizerState(new DistOptimizer(checkpoint, stored, tensors, entries, this::tensor)::read);
        readGenerators();
        ModelState state = new ModelState(entries, stateTensors);
        view.addRank(new RankShard(0, 0, 0, 0, view.tensors(), state));
        if (args.isEmpty()) {
            view.addWarning("there are no saved options ('args')");
        }
        args.flatMap(given -> LocalShapes.warning(given, view.tensors().values()))
                .ifPresent(view::addWarning);
        Parallelism sizes = args.map(TorchDistReader::sizes).orElse(Parallelism.NONE);
        return view.family(ModelView.Family.MEGATRON)
                .description("Megatron torch_dist checkpoint, saved by " + sizes
                        + (prefix.isEmpty() ? "" : ", key prefix '" + prefix + "'"))
                .parallelism(sizes)
                .pattern(args.flatMap(MegatronArgs::pattern))
                .state(state)
                .build();
    }

    private static Parallelism sizes(MegatronArgs args) {
        return new Parallelism(
                args.tensorParallel(),
                args.pipelineParallel(),
                args.virtualPipeline(),
                args.expertParallel(),
                args.expertTensorParallel());
    }

    private TorchDistKeys modelTensors() {
        for (DcpTensor tensor : checkpoint.tensors()) {
            if (TorchDistKeys.isOfModel(tensor.name())) {
                prefix = TorchDistKeys.prefixOf(tensor.name());
                if (!prefix.isEmpty()) {
                    view.addWarning("names begin with '" + prefix + "', which is no part of them");
                }
                break;
            }
        }
        List<DcpTensor> all = checkpoint.tensors();
        int[] ofModel = new int[all.size()];
        int count = 0;
        for (int i = 0; i < ofModel.length; i++) {
            DcpTensor tensor = all.get(i);
            if (TorchDistKeys.isOfOptimizer(tensor.name())) {
                entries.putIfAbsent("optimizer", PyNone.NONE);
                view.addOptimizerTensor(bytes(tensor));
            } else {
                ofModel[count++] = i;
            }
        }
        return new TorchDistKeys(checkpoint, all, Arrays.copyOf(ofModel, count), prefix);
    }

    private String division(DcpTensor tensor) {
        int chunks = tensor.chunks().size();
        if (chunks != lastChunks) {
            lastChunks = chunks;
            division = chunks + " chunks";
        }
        return division;
    }

    private LogicalTensor tensor(DistTensors tensors, int index, TorchDistKeys stored) throws CheckpointException {
        DcpTensor first = stored.tensor(tensors.number(index));
        return LogicalTensor.lazy(
                tensors.name(index),
                dtype(first),
                tensors.shape(index),
                division(first),
                () -> pieces(tensors.sources(index), stored::tensor));
    }

    /** A tensor whose places are those of another, in the stored tensors of these numbers. */
    private LogicalTensor tensor(String name, Shape shape, List<DistSource> sources, IntFunction<DcpTensor> stored)
            throws CheckpointException {
        DcpTensor first = stored.apply(sources.get(0).number());
        return LogicalTensor.lazy(name, dtype(first), shape, division(first), () -> pieces(sources, stored));
    }

    private static List<Piece> pieces(List<DistSource> sources, IntFunction<DcpTensor> stored) throws IOException {
        List<Piece> pieces = new ArrayList<>();
        for (DistSource source : sources) {
            DcpTensor tensor = stored.apply(source.number());
            boolean stacked = source.leading().length > 0;
            for (DcpPiece chunk : stacked ? tensor.piecesAt(source.leading()[0]) : tensor.pieces()) {
                addPiece(source, chunk, pieces);
            }
        }
        return pieces;
    }

    private static void addPiece(DistSource source, DcpPiece chunk, List<Piece> pieces) throws IOException {
        long[] offsets = chunk.offsets();
        long[] sizes = chunk.sizes();
        int leading = source.leading().length;
        for (int dim = 0; dim < leading; dim++) {
            long index = source.leading()[dim] - offsets[dim];
            if (index < 0 || index >= sizes[dim]) {
                return;
            }
        }
        for (long size : sizes) {
            if (size == 0) {
                return;
            }
        }
        StoredTensor data = chunk.open();
        for (int dim = 0; dim < leading; dim++) {
            data = data.select(0, source.leading()[dim] - offsets[dim]);
        }
        long[] at = new long[offsets.length - leading];
        System.arraycopy(offsets, leading, at, 0, at.length);
        if (at.length > 0) {
            at[0] += source.base();
        }
        pieces.add(new Piece(at, data));
    }

    private void readCommonState() throws IOException {
        Path common = folder.resolve("common.pt");
        if (Files.isRegularFile(common)) {
            TorchFile file = TorchFile.open(pool, common);
            addEntries(file, file.root());
        } else if (checkpoint.hasObject(COMMON)) {
            TorchFile file = checkpoint.object(COMMON);
            addEntries(file, content(file));
        }
    }

    private void addEntries(TorchFile file, PyValue root) {
        for (PyEntry entry : RankFile.items(root).orElse(List.of())) {
            if (entry.key() instanceof PyStr key) {
                entries.put(key.value(), entry.value());
            }
        }
        addTensors(file);
    }

    private void addTensors(TorchFile file) {
        for (NamedTensor tensor : file.tensors()) {
            tensor.tensor().data().ifPresent(data -> stateTensors.put(tensor.node(), data));
        }
    }

    /** Megatron wraps each object in a list of one. */
    private static PyValue content(TorchFile file) {
        return file.root() instanceof PyList list && list.items().size() == 1
                ? list.items().get(0)
                : file.root();
    }

    private void readGenerators() throws IOException {
        for (String name : checkpoint.objects()) {
            if (name.startsWith("rng_state/shard_0.0_") && !entries.containsKey("rng_state")) {
                TorchFile file = checkpoint.object(name);
                entries.put("rng_state", content(file));
                addTensors(file);
            }
        }
    }

    private Map<String, ExtraState> extraStates(DistNames names) throws IOException {
        Map<String, ExtraState> states = new LinkedHashMap<>();
        for (String object : checkpoint.objects()) {
            int at = object.indexOf(EXTRA);
            if (at < 0 || object.startsWith("optimizer.")) {
                continue;
            }
            String key = object.substring(0, at);
            String bare = key.startsWith(prefix) ? key.substring(prefix.length()) : key;
            String shard = object.substring(at + EXTRA.length());
            String name = DistKeys.opaque(bare, shard, names) + "._extra_state";
            if (!states.containsKey(name)) {
                TorchFile file = checkpoint.object(object);
                PyValue value = content(file);
                Optional<StoredTensor> tensor = file.tensor(value).flatMap(found -> found.data());
                states.put(name, new ExtraState(name, value, tensor));
            }
        }
        return states;
    }
}
