package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.QueryOrder;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.Parallelism;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** Opens a legacy Megatron checkpoint: {@code mp_rank_*} folders, each with one rank's part of the model. */
final class MegatronReader {
    private static final String EMBEDDING = "embedding.word_embeddings.weight";
    private static final String OUTPUT = "output_layer.weight";

    private final FilePool pool;
    private final OpenOptions options;
    private final ModelViewBuilder view;
    private final MegatronMerge merge = new MegatronMerge();
    private final Set<String> order = new LinkedHashSet<>();
    private final Map<String, ExtraState> extraStates = new LinkedHashMap<>();
    private RankGrid grid;
    private Map<RankGrid.Rank, RankFile> files;
    private int virtual;
    private boolean tied;
    private Optional<ExpertForm> expertForm = Optional.empty();
    private final StageOrder stageOrder = new StageOrder();

    private MegatronReader(Path shown, FilePool pool, OpenOptions options) {
        this.pool = pool;
        this.options = options;
        this.view = new ModelViewBuilder(shown, pool, ModelView.Layout.MEGATRON);
    }

    /**
     * Opens the rank folders of one iteration.
     *
     * @param shown the path that the user gave
     * @param iterationFolder the folder that holds the rank folders
     * @param folders the rank folders found in it
     */
    static ModelView read(Path shown, Path iterationFolder, List<RankPath> folders, FilePool pool, OpenOptions options)
            throws IOException {
        return new MegatronReader(shown, pool, options).read(iterationFolder, folders);
    }

    private ModelView read(Path iterationFolder, List<RankPath> folders) throws IOException {
        RankFile first = open(folders.get(0));
        Optional<MegatronArgs> args =
                Optional.ofNullable(first.entries().get("args")).flatMap(MegatronArgs::of);
        grid = RankGrid.of(iterationFolder.getFileName().toString(), folders, args);
        files = new LinkedHashMap<>();
        for (Map.Entry<RankGrid.Rank, RankPath> entry : grid.ranks().entrySet()) {
            files.put(entry.getKey(), entry.getValue() == folders.get(0) ? first : open(entry.getValue()));
        }
        RankAgreement.conflicts(files.values()).forEach(view::addConflict);
        virtual = first.chunkKeys().size();
        tied = args.map(MegatronArgs::tiedEmbeddings).orElse(false);
        Parallelism sizes = new Parallelism(
                grid.tensor(), grid.pipeline(), Math.max(1, virtual), grid.expert(), grid.expertTensor());
        gather(args);
        stageOrder.conflicts().forEach(view::addConflict);
        RankAgreement.order(files).forEach(view::addWarning);
        RankOptimizer.add(files.values(), folders, view);
        merge.merge(sizes, args.map(given -> given.flag("swiglu", false)).orElse(false), options.rules());
        Map<String, LogicalTensor> merged = new LinkedHashMap<>();
        merge.tensors().forEach(tensor -> merged.put(tensor.name(), tensor));
        for (String name : order) {
            if (merged.containsKey(name)) {
                view.add(merged.get(name));
            } else if (extraStates.containsKey(name)) {
                view.addExtraState(extraStates.get(name));
            }
        }
        merge.unknown().forEach(view::addUnknown);
        List<String> unmerged = merge.unknown().stream()
                .filter(name -> !merged.containsKey(name))
                .toList();
        if (!unmerged.isEmpty()) {
            view.addWarning("no rule says how the ranks share these parameters, which are not shown: "
                    + String.join(", ", unmerged) + "; give --rule for each");
        }
        checkArgs(args, sizes);
        return view.family(ModelView.Family.MEGATRON)
                .description("Megatron legacy checkpoint, " + sizes + ", from " + folders.size() + " rank folders")
                .iterationFolder(iterationFolder.getFileName().toString())
                .parallelism(sizes)
                .expertForm(expertForm)
                .pattern(args.flatMap(MegatronArgs::pattern))
                .build();
    }

    private RankFile open(RankPath folder) throws IOException {
        return RankFile.open(
                pool, folder.file(), folder.folder() + "/" + folder.file().getFileName());
    }

    /** Walks the stages in the order of the model, so that layer numbers become global. */
    private void gather(Optional<MegatronArgs> args) throws IOException {
        Map<RankGrid.Rank, ModelState> states = new LinkedHashMap<>();
        for (Map.Entry<RankGrid.Rank, RankFile> rank : files.entrySet()) {
            states.put(rank.getKey(), state(rank.getValue()));
        }
        view.state(states.get(new RankGrid.Rank(0, 0, 0)));
        int offset = 0;
        for (int v = 0; v < virtual; v++) {
            for (int p = 0; p < grid.pipeline(); p++) {
                boolean last = v == virtual - 1 && p == grid.pipeline() - 1;
                int layers = -1;
                for (RankGrid.Rank rank : stage(p)) {
                    int count = gatherChunk(rank, v, offset, last, states.get(rank));
                    if (layers >= 0 && count != layers) {
                        throw CheckpointException.of(
                                Kind.INCONSISTENT,
                                files.get(rank).name(),
                                "it has " + count + " layers, the first rank of the same stage has " + layers);
                    }
                    layers = count;
                }
                offset += layers;
            }
        }
        long saved = args.map(given -> given.integer("num_layers", -1)).orElse(-1L);
        if (saved >= 0 && saved != offset) {
            view.addWarning("the saved options say " + saved + " layers, the files hold " + offset);
        }
    }

    /** The ranks of a stage, expert rank by expert rank. */
    private List<RankGrid.Rank> stage(int pipeline) {
        return files.keySet().stream()
                .filter(rank -> rank.pipeline() == pipeline)
                .sorted(Comparator.comparingInt(RankGrid.Rank::expert).thenComparingInt(RankGrid.Rank::tensor))
                .toList();
    }

    private int gatherChunk(RankGrid.Rank rank, int v, int offset, boolean last, ModelState state) throws IOException {
        RankFile file = files.get(rank);
        List<String> keys = file.chunkKeys();
        if (keys.size() != virtual || keys.isEmpty()) {
            throw CheckpointException.of(
                    Kind.INCOMPLETE,
                    file.name(),
                    keys.isEmpty()
                            ? "the file has no entry 'model' or 'model0'"
                            : "the file has " + keys.size() + " virtual stages, others have " + virtual);
        }
        RankChunk chunk = RankChunk.of(file, keys.get(v), grid.expert());
        expertForm = expertForm.or(chunk::expertForm);
        Optional<QueryOrder> rows = rowOrder(file, chunk);
        MegatronExperts experts = MegatronExperts.of(chunk.entries().keySet());
        Map<String, LogicalTensor> held = new LinkedHashMap<>();
        Set<Integer> layers = new LinkedHashSet<>();
        for (Map.Entry<String, RankChunk.Entry> entry : chunk.entries().entrySet()) {
            MegatronName local = MegatronName.parse(entry.getKey());
            OptionalInt layer = local.layer();
            layer.ifPresent(layers::add);
            MegatronName global = layer.isPresent() ? local.inLayer(layer.getAsInt() + offset) : local;
            String name = experts.global(local, global, rank.expert()).key();
            Optional<StoredTensor> tensor = entry.getValue().tensor();
            if (local.isExtraState()) {
                order.add(name);
                extraStates.putIfAbsent(
                        name, new ExtraState(name, entry.getValue().node(), tensor));
            } else if (tensor.isPresent()) {
                String where = file.name() + ", " + entry.getKey();
                List<Piece> pieces = rows.isPresent() && QueryOrder.concerns(local)
                        ? rows.get().pieces(tensor.get(), where)
                        : List.of(Piece.whole(tensor.get()));
                MegatronMerge.Shard shard =
                        new MegatronMerge.Shard(rank.tensor(), tensor.get().shape(), pieces, file.name());
                held.put(name, LogicalTensor.of(name, shard.dtype(), shard.shape(), "whole", pieces, List.of()));
                String canonical = tied && last && name.equals(OUTPUT) ? EMBEDDING : name;
                order.add(canonical);
                merge.add(canonical, shard);
            } else {
                throw CheckpointException.of(
                        Kind.UNSUPPORTED, file.name() + ", " + entry.getKey(), "this is no plain strided tensor");
            }
        }
        for (int number = 0; number < layers.size(); number++) {
            if (!layers.contains(number)) {
                throw CheckpointException.of(
                        Kind.INCOMPLETE,
                        file.name(),
                        "layer " + number + " of its " + layers.size() + " layers is missing");
            }
        }
        stageOrder.add(v * grid.pipeline() + rank.pipeline(), file.name(), held.keySet());
        view.addRank(new RankShard(rank.tensor(), rank.pipeline(), v, rank.expert(), held, state));
        return layers.size();
    }

    private Optional<QueryOrder> rowOrder(RankFile file, RankChunk chunk) throws CheckpointException {
        if (chunk.old()) {
            view.addWarning("keys are those from before Megatron's core library; here they have its names");
        }
        Optional<QueryOrder> rows = QueryOrder.of(file.entries(), chunk.old(), file.name());
        if (rows.isPresent()) {
            boolean hybrid = chunk.entries().keySet().stream().anyMatch(key -> key.contains(".mixer."));
            if (hybrid) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        file.name(),
                        "checkpoint_version " + rows.get().version() + " is older than hybrid models; theirs is 3.0");
            }
            view.addWarning("checkpoint_version " + rows.get().version()
                    + " has its own order of query, key and value rows; they are read in today's order");
        }
        return rows;
    }

    private static ModelState state(RankFile file) {
        Map<String, PyValue> entries = new LinkedHashMap<>(file.entries());
        Map<PyValue, StoredTensor> tensors = new LinkedHashMap<>();
        file.stateTensors().forEach(tensors::put);
        return new ModelState(entries, tensors);
    }

    private void checkArgs(Optional<MegatronArgs> args, Parallelism sizes) {
        if (args.isEmpty()) {
            view.addWarning("there are no saved options ('args')");
            return;
        }
        List<String> differences = new ArrayList<>();
        compare(differences, "TP", args.get().tensorParallel(), sizes.tensor());
        compare(differences, "PP", args.get().pipelineParallel(), sizes.pipeline());
        compare(differences, "VPP", args.get().virtualPipeline(), sizes.virtual());
        compare(differences, "EP", args.get().expertParallel(), sizes.expert());
        if (!differences.isEmpty()) {
            view.addWarning("the saved options and the files differ: " + String.join(", ", differences));
        }
    }

    private static void compare(List<String> differences, String what, int saved, int found) {
        if (saved != found) {
            differences.add(what + " " + saved + " saved, " + found + " found");
        }
    }
}
