package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchPickle;
import dev.shardsmith.reshard.family.MegatronDivisions;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.family.MegatronLimits;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.MegatronTarget;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.Planner;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.Parallelism;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Lays out a legacy Megatron checkpoint: one file per tensor-, pipeline- and expert-parallel rank, and the tracker. */
final class MegatronWriter {
    private static final String EMBEDDING = "embedding.word_embeddings.weight";
    private static final String OUTPUT = "output_layer.weight";
    private static final String FILE = "model_optim_rng.pt";

    private final ModelView source;
    private final ConversionOptions options;
    private final MegatronStages stages;
    private final Parallelism sizes;
    private final TargetModel model;
    private final MegatronDivisions divisions;
    private final MegatronExperts experts;
    private final Map<String, ExtraState> extraStates = new LinkedHashMap<>();
    private final List<String> order;
    private final boolean tied;
    private final TargetLayout layout = new TargetLayout();

    private MegatronWriter(ModelView source, ConversionOptions options) throws CheckpointException {
        this.source = source;
        this.options = options;
        this.stages = MegatronStages.choose(source, options);
        this.sizes = sizes();
        this.model = MegatronTarget.of(source, options, sizes.tensor(), true);
        Map<String, Shape> shapes = new LinkedHashMap<>();
        model.tensors().values().forEach(tensor -> shapes.put(tensor.name(), tensor.shape()));
        Optional<MegatronArgs> args = source.state().args();
        this.divisions = MegatronDivisions.of(
                shapes, args.map(given -> given.flag("swiglu", false)).orElse(false), options.rules());
        requireKnown();
        MegatronLimits.require(shapes, divisions, args, sizes.tensor(), sizes.expertTensor());
        this.experts = MegatronExperts.of(shapes.keySet());
        source.extraStates().forEach(extra -> extraStates.put(extra.name(), extra));
        this.order = order();
        this.tied = args.map(MegatronArgs::tiedEmbeddings).orElse(!shapes.containsKey(OUTPUT));
    }

    /** The plan of a conversion to the legacy layout. */
    static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        MegatronWriter writer = new MegatronWriter(source, options);
        writer.layOut();
        return Planner.plan(source, writer.model, writer.layout);
    }

    private Parallelism sizes() throws CheckpointException {
        Parallelism from = source.parallelism();
        int tensor = options.tensor().orElse(from.tensor());
        int expert = options.expert().orElse(from.expert());
        boolean mixture = source.tensors().keySet().stream()
                .anyMatch(name -> MegatronExperts.number(MegatronName.parse(name)) >= 0);
        int expertTensor = options.expertTensor().orElse(tensor);
        if (mixture && expertTensor != tensor) {
            throw refused("expert tensor parallelism " + expertTensor + " must equal tensor parallelism " + tensor
                    + " here: the names of rank folders cannot express anything else");
        }
        if (!mixture && expert > 1) {
            throw refused("the model has no experts, so --ep " + expert + " has nothing to divide");
        }
        MegatronExperts counts = MegatronExperts.of(source.tensors().keySet());
        for (String name : source.tensors().keySet()) {
            int experts = counts.perRank(MegatronName.parse(name).prefix());
            if (experts % expert != 0) {
                throw refused(experts + " experts of " + name + " cannot be divided among " + expert + " ranks");
            }
        }
        return new Parallelism(tensor, stages.layout().ppSize(), stages.layout().vpSize(), expert, tensor);
    }

    private void requireKnown() throws CheckpointException {
        List<String> unknown = divisions.unknown();
        if (!unknown.isEmpty()) {
            throw refused("no rule says how these parameters are divided: " + String.join(", ", unknown))
                    .withHint("give --rule 'GLOB=replicate', '…=column' or '…=row' for each");
        }
    }

    /** The source's order, by the names that the target has. */
    private List<String> order() {
        Map<String, String> renamed = new LinkedHashMap<>();
        model.tensors().values().forEach(tensor -> renamed.put(tensor.source(), tensor.name()));
        List<String> names = new ArrayList<>();
        for (String name : source.order()) {
            if (renamed.containsKey(name)) {
                names.add(renamed.get(name));
            } else if (extraStates.containsKey(name) && options.extraState() != Keep.DROP) {
                names.add(name);
            }
        }
        return names;
    }

    private void layOut() throws CheckpointException {
        stages.notes().forEach(layout::addNote);
        String folder = iterationFolder();
        for (int t = 0; t < sizes.tensor(); t++) {
            for (int p = 0; p < sizes.pipeline(); p++) {
                for (int e = 0; e < sizes.expert(); e++) {
                    RankGrid.Rank rank = new RankGrid.Rank(t, p, e);
                    String path = folder + "/" + rank.folder(sizes.pipeline(), sizes.expert()) + "/" + FILE;
                    layout.addFile(rankFile(rank, path));
                }
            }
        }
        layout.addFile(tracker(folder));
        noteDropped();
    }

    private String iterationFolder() {
        if (options.resetIterations()) {
            return "iter_0000000";
        }
        if (source.iterationFolder().isPresent()) {
            return source.iterationFolder().get();
        }
        PyValue saved = source.state().entries().get("iteration");
        long iteration = saved instanceof PyInt number ? number.asLong().orElse(0) : 0;
        return "iter_%07d".formatted(iteration);
    }

    private static FileImage tracker(String folder) {
        String text = folder.startsWith("iter_") ? Long.toString(Long.parseLong(folder.substring(5))) : folder;
        return HuggingFaceFiles.literal("latest_checkpointed_iteration.txt", text);
    }

    private FileImage rankFile(RankGrid.Rank rank, String path) throws CheckpointException {
        ArchiveContent content = new ArchiveContent(path, layout);
        ModelState template = template(rank);
        PyDict root = new PyDict();
        boolean placed = false;
        for (Map.Entry<String, PyValue> entry : template.entries().entrySet()) {
            String key = entry.getKey();
            if (key.matches("model\\d*")) {
                placed = placed || chunks(rank, root, content);
            } else if (key.equals("optimizer")) {
                continue;
            } else {
                if (key.equals("opt_param_scheduler") && !placed) {
                    placed = chunks(rank, root, content);
                }
                root.put(key, stateEntry(key, entry.getValue()));
            }
        }
        if (!placed) {
            chunks(rank, root, content);
        }
        content.copyTensors(template.tensors());
        return content.image(root, FILE.substring(0, FILE.indexOf('.')));
    }

    private PyValue stateEntry(String key, PyValue value) {
        if (key.equals("args")) {
            Optional<MegatronArgs> args = MegatronArgs.of(value);
            return args.isEmpty() ? value : updated(args.get()).node();
        }
        return key.equals("iteration") && options.resetIterations() ? PyInt.of(0) : value;
    }

    private MegatronArgs updated(MegatronArgs args) {
        Optional<Long> rows = Optional.ofNullable(model.tensors().get(EMBEDDING))
                .map(tensor -> tensor.shape().size(0));
        return MegatronArgsUpdate.apply(args, source.parallelism(), sizes, stages.pattern(), rows, "torch", options);
    }

    /** State of the rank itself where the grid stays the same, else that of the first rank. */
    private ModelState template(RankGrid.Rank rank) {
        if (source.layout() == ModelView.Layout.MEGATRON && sizes.equals(source.parallelism())) {
            for (RankShard shard : source.ranks()) {
                if (shard.tensor() == rank.tensor()
                        && shard.pipeline() == rank.pipeline()
                        && shard.expert() == rank.expert()) {
                    return shard.state();
                }
            }
        }
        return source.state();
    }

    private boolean chunks(RankGrid.Rank rank, PyDict root, ArchiveContent content) throws CheckpointException {
        for (int v = 0; v < sizes.virtual(); v++) {
            int stage = v * sizes.pipeline() + rank.pipeline();
            root.put(sizes.virtual() > 1 ? "model" + v : "model", chunk(rank, stage, content));
        }
        return true;
    }

    private PyValue chunk(RankGrid.Rank rank, int stage, ArchiveContent content) throws CheckpointException {
        List<PyEntry> entries = new ArrayList<>();
        for (String name : order) {
            MegatronName parsed = MegatronName.parse(name);
            if (stages.stageOf(parsed) == stage && expertHere(parsed, rank)) {
                String key = localKey(parsed);
                ExtraState extra = extraStates.get(name);
                entries.add(new PyEntry(
                        new PyStr(key), extra == null ? tensor(name, rank, content) : extraState(extra, content)));
            }
        }
        if (stage == stages.last() && stage > 0) {
            copiesOfEmbedding(rank, content, entries);
        }
        return TorchPickle.orderedDict(entries);
    }

    /** The last stage of a pipeline needs the embedding for tied outputs and for multi-token prediction. */
    private void copiesOfEmbedding(RankGrid.Rank rank, ArchiveContent content, List<PyEntry> entries)
            throws CheckpointException {
        if (!model.tensors().containsKey(EMBEDDING) || sizes.pipeline() == 1) {
            return;
        }
        boolean prediction = model.tensors().keySet().stream().anyMatch(name -> name.startsWith("mtp."));
        if (prediction) {
            entries.add(0, new PyEntry(new PyStr(EMBEDDING), tensor(EMBEDDING, rank, content)));
        }
        if (tied && !model.tensors().containsKey(OUTPUT)) {
            entries.add(new PyEntry(new PyStr(OUTPUT), tensor(EMBEDDING, rank, content)));
        }
    }

    private boolean expertHere(MegatronName name, RankGrid.Rank rank) {
        int number = MegatronExperts.number(name);
        return number < 0 || number / expertsPerRank(name) == rank.expert();
    }

    private int expertsPerRank(MegatronName name) {
        return Math.max(1, experts.perRank(name.prefix()) / sizes.expert());
    }

    private String localKey(MegatronName name) {
        MegatronName local = stages.local(name);
        int number = MegatronExperts.number(local);
        return number < 0
                ? local.key()
                : MegatronExperts.withNumber(local, number % expertsPerRank(name))
                        .key();
    }

    private PyValue tensor(String name, RankGrid.Rank rank, ArchiveContent content) throws CheckpointException {
        TargetTensor tensor = model.tensors().get(name);
        MegatronDivisions.Entry entry = divisions.get(name).orElseThrow();
        int world = entry.world() == World.TENSOR ? sizes.tensor() : sizes.expertTensor();
        Division division = entry.division();
        StoredTensor local = content.slot(tensor.dtype(), division.localShape(tensor.shape(), rank.tensor(), world));
        for (Placement placement : division.placements(tensor.shape(), rank.tensor(), world)) {
            layout.addPiece(
                    name,
                    new Piece(
                            placement.logical().offset(),
                            local.narrow(placement.local(), placement.logical().size())));
        }
        return content.lastNode();
    }

    private PyValue extraState(ExtraState extra, ArchiveContent content) throws CheckpointException {
        if (options.extraState() == Keep.EMPTY) {
            return PyNone.NONE;
        }
        return extra.tensor().isPresent()
                ? content.copy(extra.name(), extra.tensor().get())
                : extra.value();
    }

    private void noteDropped() {
        if (source.state().entries().containsKey("optimizer")) {
            layout.addDropped(new Dropped("optimizer", 0, 0, "optimizer state is not converted"));
        }
        if (options.extraState() == Keep.DROP && !extraStates.isEmpty()) {
            layout.addDropped(new Dropped(extraStates.size() + " _extra_state entries", 0, 0, "--extra-state drop"));
        }
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(Kind.REFUSED, "", problem);
    }
}
