package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchPickle;
import dev.shardsmith.reshard.family.MegatronDivisions;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
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
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.Parallelism;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Lays out a legacy Megatron checkpoint: one file per tensor-, pipeline- and expert-parallel rank, and the tracker. */
final class MegatronWriter {
    private static final String EMBEDDING = "embedding.word_embeddings.weight";
    private static final String OUTPUT = "output_layer.weight";
    private static final String FILE = "model_optim_rng.pt";

    private final MegatronGoal goal;
    private final ModelView source;
    private final ConversionOptions options;
    private final MegatronStages stages;
    private final Parallelism sizes;
    private final TargetModel model;
    private final List<String> order;
    private final boolean tied;
    private final ExpertForm form;
    private final TargetLayout layout = new TargetLayout();

    private MegatronWriter(MegatronGoal goal) throws CheckpointException {
        this.goal = goal;
        this.source = goal.source();
        this.options = goal.options();
        this.stages = goal.stages();
        this.sizes = goal.sizes();
        this.model = goal.model();
        this.order = goal.order();
        this.form = goal.expertForm();
        this.tied = source.state()
                .args()
                .map(MegatronArgs::tiedEmbeddings)
                .orElse(!model.tensors().containsKey(OUTPUT));
    }

    /** The plan of a conversion to the legacy layout. */
    static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        MegatronWriter writer = new MegatronWriter(new MegatronGoal(source, options, "torch", false));
        writer.layOut();
        return Planner.plan(source, writer.model, writer.layout);
    }

    private void layOut() throws CheckpointException {
        String folder = goal.iterationFolder();
        for (RankGrid.Rank rank : RankGrid.of(sizes.tensor(), sizes.pipeline(), sizes.expert(), sizes.expertTensor())) {
            String path = folder + "/" + rank.folder(sizes.pipeline(), sizes.expert()) + "/" + FILE;
            layout.addFile(rankFile(rank, path));
        }
        layout.addFile(goal.tracker());
        goal.note(layout);
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
                root.put(key, goal.stateEntry(key, entry.getValue()));
            }
        }
        if (!placed) {
            chunks(rank, root, content);
        }
        content.copyTensors(template.tensors());
        return content.image(root, FILE.substring(0, FILE.indexOf('.')));
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
        Map<String, StoredTensor> packed = new LinkedHashMap<>();
        for (String name : order) {
            MegatronName parsed = MegatronName.parse(name);
            if (stages.stageOf(parsed) == stage && expertHere(parsed, rank)) {
                ExtraState extra = goal.extraStates().get(name);
                if (extra == null && form.packed() && MegatronExperts.number(parsed) >= 0) {
                    packed(parsed, rank, content, packed, entries);
                } else {
                    entries.add(new PyEntry(
                            new PyStr(localKey(parsed)),
                            extra == null ? tensor(name, rank, content) : extraState(extra, content)));
                }
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
            entries.add(outputPlace(entries), new PyEntry(new PyStr(OUTPUT), tensor(EMBEDDING, rank, content)));
        }
    }

    /** A module's weight comes before its other state: before {@code output_layer._extra_state}, if that is there. */
    private static int outputPlace(List<PyEntry> entries) {
        for (int i = 0; i < entries.size(); i++) {
            if (entries.get(i).key() instanceof PyStr name && name.value().startsWith("output_layer.")) {
                return i;
            }
        }
        return entries.size();
    }

    private boolean expertHere(MegatronName name, RankGrid.Rank rank) {
        int number = MegatronExperts.number(name);
        return number < 0 || number / expertsPerRank(name) == rank.expert();
    }

    private int expertsPerRank(MegatronName name) {
        return Math.max(1, goal.experts().perRank(name.prefix()) / sizes.expert());
    }

    private String localKey(MegatronName name) {
        MegatronName local = stages.local(name);
        int number = MegatronExperts.number(local);
        return number < 0
                ? local.key()
                : MegatronExperts.withNumber(local, number % expertsPerRank(name))
                        .key();
    }

    /** Places an expert's parameter in the tensor that holds those of all experts of the rank. */
    private void packed(
            MegatronName name,
            RankGrid.Rank rank,
            ArchiveContent content,
            Map<String, StoredTensor> packed,
            List<PyEntry> entries)
            throws CheckpointException {
        PackedExperts experts = PackedExperts.holding(form, name.suffix());
        String key = stages.local(name).prefix() + experts.suffix();
        TargetTensor tensor = model.tensors().get(name.key());
        Share share = share(name.key(), rank);
        int count = expertsPerRank(name);
        StoredTensor all = packed.get(key);
        if (all == null) {
            Shape one = share.division().localShape(tensor.shape(), share.rank(), share.world());
            all = content.slot(tensor.dtype(), experts.shape(one, count));
            packed.put(key, all);
            entries.add(new PyEntry(new PyStr(key), content.lastNode()));
        }
        place(name.key(), share, experts.expert(all, MegatronExperts.number(name) % count, count));
    }

    /** A rank's part of a parameter. */
    private record Share(Division division, int rank, int world) {}

    private Share share(String name, RankGrid.Rank rank) {
        MegatronDivisions.Entry entry = goal.divisions().get(name).orElseThrow();
        int world = entry.world() == World.TENSOR ? sizes.tensor() : sizes.expertTensor();
        return new Share(entry.division(), rank.tensor() % world, world);
    }

    private PyValue tensor(String name, RankGrid.Rank rank, ArchiveContent content) throws CheckpointException {
        TargetTensor tensor = model.tensors().get(name);
        Share share = share(name, rank);
        Shape local = share.division().localShape(tensor.shape(), share.rank(), share.world());
        place(name, share, content.slot(tensor.dtype(), local));
        return content.lastNode();
    }

    private void place(String name, Share share, StoredTensor local) {
        Shape whole = model.tensors().get(name).shape();
        for (Placement placement : share.division().placements(whole, share.rank(), share.world())) {
            layout.addPiece(
                    name,
                    new Piece(
                            placement.logical().offset(),
                            local.narrow(placement.local(), placement.logical().size())));
        }
    }

    private PyValue extraState(ExtraState extra, ArchiveContent content) throws CheckpointException {
        if (options.extraState() == Keep.EMPTY) {
            return PyNone.NONE;
        }
        return extra.tensor().isPresent()
                ? content.copy(extra.name(), extra.tensor().get())
                : extra.value();
    }
}
