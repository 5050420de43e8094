package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.dcp.DcpImage;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchPickle;
import dev.shardsmith.reshard.family.MegatronDivisions;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.ParameterRule;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.Planner;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.rule.Component;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.Parallelism;
import java.io.IOException;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Lays out a Megatron {@code torch_dist} checkpoint.
 *
 * <p>Chunks are those that a run with the wanted tensor, pipeline and expert sizes would write; each writer rank has one data file.
 */
final class TorchDistWriter {
    /** A chunk and the logical box that it holds. */
    private record Place(String tensor, Box logical, DType dtype, Shape shape, int leading, String slot) {}

    /** A tensor of the state that is copied into a slot. */
    private record Copy(String name, StoredTensor source, String slot) {}

    /** One stored tensor while its chunks are gathered. */
    private record Stored(DType dtype, Shape shape, List<DcpImage.Chunk> chunks) {}

    private final MegatronGoal goal;
    private final KeptOptimizer optimizer;
    private final DistLayers layers;
    private final ModelView source;
    private final Parallelism sizes;
    private final TargetLayout layout = new TargetLayout();
    private final DcpImage image = new DcpImage();
    private final Map<String, Stored> stored = new LinkedHashMap<>();
    private final List<Place> places = new ArrayList<>();
    private final List<Copy> copies = new ArrayList<>();

    private TorchDistWriter(MegatronGoal goal, KeptOptimizer optimizer) {
        this.goal = goal;
        this.optimizer = optimizer;
        this.layers = new DistLayers(goal);
        this.source = goal.source();
        this.sizes = goal.sizes();
    }

    /** The plan of a conversion to torch_dist. */
    static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        MegatronGoal goal = new MegatronGoal(source, options, "torch_dist", true);
        KeptOptimizer optimizer = KeptOptimizer.of(goal);
        TorchDistWriter writer = new TorchDistWriter(goal, optimizer);
        writer.layOut();
        return Planner.plan(optimizer.sources(), optimizer.model(), writer.layout);
    }

    private void layOut() throws CheckpointException {
        for (TargetTensor tensor : goal.model().tensors().values()) {
            chunks("", tensor, tensor);
        }
        for (KeptOptimizer.Kept kept : optimizer.tensors()) {
            chunks(kept.state(), kept.parameter(), kept.tensor());
        }
        for (Map.Entry<String, Stored> entry : stored.entrySet()) {
            Stored tensor = entry.getValue();
            image.tensor(entry.getKey(), tensor.dtype(), tensor.shape(), tensor.chunks());
        }
        for (ExtraState extra : goal.extraStates().values()) {
            extraState(extra);
        }
        state();
        finish();
        goal.note(layout);
    }

    /** The rank that writes a chunk, as Megatron numbers ranks: tensor parallelism first, then pipeline. */
    private int writer(int tensorRank, int stage) {
        return (stage % sizes.pipeline()) * sizes.tensor() + Math.min(tensorRank, sizes.tensor() - 1);
    }

    /**
     * Lays out the chunks of a tensor.
     *
     * @param state what its keys begin with before those of its parameter; nothing for the parameter itself
     * @param parameter the parameter, whose rule decides where everything is
     * @param tensor the parameter or a tensor of the optimizer's state that belongs to it
     */
    private void chunks(String state, TargetTensor parameter, TargetTensor tensor) {
        MegatronName name = MegatronName.parse(parameter.name());
        MegatronDivisions.Entry entry = goal.divisions().get(parameter.name()).orElseThrow();
        int world = entry.division().replicated()
                ? 1
                : entry.world() == World.TENSOR ? sizes.tensor() : sizes.expertTensor();
        int stage = goal.stages().stageOf(name);
        DistLayers.Lead lead = layers.leads(name).get(0);
        String prefix = layers.prefix(name);
        for (int rank = 0; rank < world; rank++) {
            for (Placement placement : entry.division().placements(tensor.shape(), rank, world)) {
                Box box = placement.logical();
                String key = prefix + layers.suffix(name);
                Shape whole = tensor.shape();
                long[] offset = box.offset().clone();
                if (entry.rule().isPresent()) {
                    ParameterRule rule = entry.rule().get();
                    boolean renamed = !rule.dist().equals(rule.suffix());
                    key = renamed ? prefix + rule.distKey(placement.component()) : key;
                    if (rule.distByPart()) {
                        long base = partStart(entry, placement.component());
                        whole = whole.with(rule.axis(), partWidth(entry, placement.component()));
                        offset[rule.axis()] -= base;
                    }
                }
                chunk(tensor, state + key, whole, box, offset, lead, writer(rank, stage));
            }
        }
    }

    private static long partStart(MegatronDivisions.Entry entry, String part) {
        long start = 0;
        for (Component component : ((Division.Split) entry.division()).components()) {
            if (component.name().equals(part)) {
                return start;
            }
            start += component.width();
        }
        throw new IllegalStateException("no part " + part);
    }

    private static long partWidth(MegatronDivisions.Entry entry, String part) {
        for (Component component : ((Division.Split) entry.division()).components()) {
            if (component.name().equals(part)) {
                return component.width();
            }
        }
        throw new IllegalStateException("no part " + part);
    }

    private void chunk(
            TargetTensor tensor, String key, Shape whole, Box box, long[] offset, DistLayers.Lead lead, int file) {
        String slot = "t" + places.size();
        long[] lengths = lead.one(box.size());
        stored.computeIfAbsent(key, none -> new Stored(tensor.dtype(), lead.shape(whole), new ArrayList<>()))
                .chunks()
                .add(new DcpImage.Chunk(lead.offset(offset), lengths, slot, file));
        places.add(new Place(tensor.name(), box, tensor.dtype(), Shape.of(lengths), lead.index().length, slot));
    }

    private void extraState(ExtraState extra) throws CheckpointException {
        MegatronName name = MegatronName.parse(extra.name());
        String suffix =
                name.suffix().replaceFirst("mlp\\.experts\\.(local_experts\\.\\d+\\.)?", "mlp.experts.experts.");
        int file = writer(0, goal.stages().stageOf(name));
        for (DistLayers.Lead lead : layers.leads(name)) {
            object(layers.prefix(name) + suffix + "/" + lead.shard(), extraValue(extra), file);
        }
    }

    private PyValue extraValue(ExtraState extra) {
        return goal.options().extraState() == Keep.EMPTY ? PyNone.NONE : extra.value();
    }

    private void state() throws CheckpointException {
        PyDict common = new PyDict();
        for (Map.Entry<String, PyValue> entry : source.state().entries().entrySet()) {
            String key = entry.getKey();
            boolean elsewhere = key.matches("model\\d*") || key.equals("rng_state");
            boolean wanted = !key.equals("optimizer")
                    || goal.options().optimizer() == Keep.KEEP && entry.getValue() != PyNone.NONE;
            if (wanted && !elsewhere) {
                common.put(key, goal.stateEntry(key, entry.getValue()));
            }
        }
        layers.describe(common);
        PyValue generators = source.state().entries().get("rng_state");
        if (generators != null) {
            for (int p = 0; p < sizes.pipeline(); p++) {
                for (int t = 0; t < sizes.tensor(); t++) {
                    String shard = "rng_state/shard_%d.%d_%d.%d".formatted(p, t, sizes.pipeline(), sizes.tensor());
                    object(shard, generators, writer(t, p));
                }
            }
        }
        if (newest()) {
            image.forMegatron();
            object("common_state/shard_0_1", common, 0);
        } else {
            image.withCommon(common, substitutes("common.pt"));
        }
    }

    /**
     * Megatron-core 0.19 renamed the convolution's keys and moved the common state into the shards at about the same time. Only
     * layers of Mamba's own kind, which have a D, were renamed.
     */
    private boolean newest() {
        Map<String, TargetTensor> tensors = goal.model().tensors();
        return tensors.keySet().stream()
                .filter(name -> name.endsWith("mixer.conv1d.weight"))
                .noneMatch(name -> tensors.containsKey(name.replace("mixer.conv1d.weight", "mixer.D")));
    }

    private void object(String name, PyValue value, int file) throws CheckpointException {
        image.object(name, new PyList(List.of(value)), substitutes(name), file);
    }

    /** Compact copies of the state's tensors for one object; those that it does not have are never asked for. */
    private Map<PyValue, PyValue> substitutes(String object) {
        TorchPickle pickle = new TorchPickle();
        Map<PyValue, PyValue> nodes = new IdentityHashMap<>();
        Map<PyValue, StoredTensor> tensors = new LinkedHashMap<>(source.state().tensors());
        goal.extraStates()
                .values()
                .forEach(extra -> extra.tensor().ifPresent(data -> tensors.put(extra.value(), data)));
        int number = 0;
        for (Map.Entry<PyValue, StoredTensor> tensor : tensors.entrySet()) {
            String key = "s" + number++;
            nodes.put(
                    tensor.getKey(),
                    pickle.tensor(tensor.getValue().dtype(), tensor.getValue().shape(), key));
            copies.add(new Copy(object, tensor.getValue(), DcpImage.storageKey(object, key)));
        }
        return nodes;
    }

    private void finish() throws CheckpointException {
        String folder = goal.iterationFolder();
        Map<String, String> fileOf = new LinkedHashMap<>();
        for (FileImage file : image.build()) {
            String path = folder + "/" + file.path();
            layout.addFile(new FileImage(path, file.size(), file.literals(), file.slots(), file.crcPatches()));
            file.slots().forEach(slot -> fileOf.put(slot.key(), path));
        }
        layout.addFile(goal.tracker());
        for (Place place : places) {
            StoredTensor slot = TargetLayout.slot(fileOf.get(place.slot()), place.slot(), place.dtype(), place.shape());
            for (int axis = 0; axis < place.leading(); axis++) {
                slot = slot.select(0, 0);
            }
            layout.addPiece(place.tensor(), new Piece(place.logical().offset(), slot));
        }
        for (Copy copy : copies) {
            if (fileOf.containsKey(copy.slot())) {
                StoredTensor target = TargetLayout.slot(
                        fileOf.get(copy.slot()),
                        copy.slot(),
                        copy.source().dtype(),
                        copy.source().shape());
                layout.addState(copy.name(), new TargetLayout.StateTensor(copy.source(), target));
            }
        }
    }
}
