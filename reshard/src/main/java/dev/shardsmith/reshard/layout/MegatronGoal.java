package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.family.LayerMoves;
import dev.shardsmith.reshard.family.MegatronDivisions;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.family.MegatronLimits;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.MegatronOrder;
import dev.shardsmith.reshard.family.MegatronTarget;
import dev.shardsmith.reshard.family.NemotronDifferences;
import dev.shardsmith.reshard.family.QueryOrder;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.Parallelism;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What both of Megatron's layouts need before their files can be laid out: sizes, stages, divisions, saved options. */
final class MegatronGoal {
    /** What Megatron writes today: rows of queries, keys and values are in the order since version 2. */
    private static final double CHECKPOINT_VERSION = 3.0;

    private static final String EMBEDDING = "embedding.word_embeddings.weight";

    private final ModelView source;
    private final ConversionOptions options;
    private final String format;
    private final LayerMoves moves;
    private final MegatronStages stages;
    private final Parallelism sizes;
    private final ExpertForm expertForm;
    private final TargetModel model;
    private final MegatronDivisions divisions;
    private final MegatronExperts experts;
    private final Map<String, ExtraState> extraStates = new LinkedHashMap<>();

    /**
     * Settles everything, or says everything that stands against it.
     *
     * @param format value of {@code ckpt_format} in the saved options
     * @param anyExpertTensor whether the layout can express experts that are divided otherwise than dense layers
     */
    MegatronGoal(ModelView source, ConversionOptions options, String format, boolean anyExpertTensor)
            throws CheckpointException {
        this.source = source;
        this.options = options;
        this.format = format;
        this.moves = LayerMoves.of(source, options);
        this.stages = MegatronStages.choose(source, options, moves);
        this.sizes = sizes(anyExpertTensor);
        this.expertForm = options.experts().or(source::expertForm).orElseGet(this::savedForm);
        this.model = MegatronTarget.of(source, options, sizes.tensor(), true, moves);
        Map<String, Shape> shapes = new LinkedHashMap<>();
        model.tensors().values().forEach(tensor -> shapes.put(tensor.name(), tensor.shape()));
        Optional<MegatronArgs> args = source.state().args().map(saved -> MegatronArgsUpdate.withSet(saved, options));
        this.divisions = MegatronDivisions.of(
                shapes, args.map(given -> given.flag("swiglu", false)).orElse(false), options.rules());
        if (!divisions.unknown().isEmpty()) {
            throw refused("no rule says how these parameters are divided: " + String.join(", ", divisions.unknown()))
                    .withHint("give --rule 'GLOB=replicate', '…=column' or '…=row' for each");
        }
        MegatronLimits.require(shapes, divisions, args, sizes.tensor(), sizes.expertTensor());
        this.experts = MegatronExperts.of(shapes.keySet());
        if (options.extraState() != Keep.DROP) {
            for (ExtraState extra : source.extraStates()) {
                Optional<String> name = moves.target(extra.name());
                if (name.isPresent() && !ofOtherExperts(extra.name())) {
                    extraStates.put(name.get(), new ExtraState(name.get(), extra.value(), extra.tensor()));
                }
            }
        }
    }

    /** Experts in another form have other modules, which have other opaque states. */
    private boolean ofOtherExperts(String name) {
        boolean changes = options.experts().isPresent()
                && (options.experts().get() == ExpertForm.SEQUENTIAL)
                        != (source.expertForm().orElse(ExpertForm.GROUPED) == ExpertForm.SEQUENTIAL);
        return changes && name.contains(".mlp.experts.");
    }

    /** The form that the saved options say, for sources of a layout that has one form for all. */
    private ExpertForm savedForm() {
        Optional<MegatronArgs> args = source.state().args();
        if (args.isPresent() && !args.get().flag("moe_grouped_gemm", false)) {
            return ExpertForm.SEQUENTIAL;
        }
        if (args.map(given -> given.flag("moe_use_legacy_grouped_gemm", false)).orElse(false)) {
            return ExpertForm.FLAT;
        }
        boolean stacked = args.map(given -> given.flag("moe_single_grouped_weight", false))
                .orElse(false);
        return stacked ? ExpertForm.STACKED : ExpertForm.GROUPED;
    }

    private Parallelism sizes(boolean anyExpertTensor) throws CheckpointException {
        Parallelism from = source.parallelism();
        int tensor = options.tensor().orElse(from.tensor());
        int expert = options.expert().orElse(from.expert());
        MegatronExperts counts = MegatronExperts.of(source.tensors().keySet());
        boolean mixture = false;
        for (String name : source.tensors().keySet()) {
            int experts = counts.perRank(MegatronName.parse(name).prefix());
            mixture |= experts > 0;
            if (experts % expert != 0) {
                throw refused(experts + " experts of " + name + " cannot be divided among " + expert + " ranks");
            }
        }
        if (!mixture && expert > 1) {
            throw refused("the model has no experts, so --ep " + expert + " has nothing to divide");
        }
        int asked = options.expertTensor().orElse(1);
        if (!mixture && asked > 1 && asked != tensor) {
            throw refused("the model has no experts, so --etp " + asked + " has nothing to divide");
        }
        // Experts that are divided as dense layers are stay so; others keep their size where the layout has names for
        // it.
        boolean keeps = from.expertTensor() != from.tensor()
                && (anyExpertTensor || RankGrid.expressible(tensor, expert, from.expertTensor()));
        int expertTensor = options.expertTensor().orElse(keeps ? from.expertTensor() : tensor);
        if (mixture && !anyExpertTensor && !RankGrid.expressible(tensor, expert, expertTensor)) {
            throw refused("the names of rank folders cannot express experts that are divided among " + expertTensor
                            + " tensor ranks and " + expert + " expert ranks beside dense layers divided among "
                            + tensor)
                    .withHint(
                            "an --etp that divides --tp, with --ep times --etp not less than --tp; or --to torch_dist");
        }
        return new Parallelism(
                tensor, stages.layout().ppSize(), stages.layout().vpSize(), expert, mixture ? expertTensor : tensor);
    }

    /** The source. */
    ModelView source() {
        return source;
    }

    /** What the user wants. */
    ConversionOptions options() {
        return options;
    }

    /** Which layers of the source become which of the target. */
    LayerMoves moves() {
        return moves;
    }

    /** Which stage has what. */
    MegatronStages stages() {
        return stages;
    }

    /** Sizes of the target's groups. */
    Parallelism sizes() {
        return sizes;
    }

    /** The target's logical tensors. */
    TargetModel model() {
        return model;
    }

    /** How each is divided. */
    MegatronDivisions divisions() {
        return divisions;
    }

    /** Experts of each layer. */
    MegatronExperts experts() {
        return experts;
    }

    /** How the target's files keep the weights of experts. */
    ExpertForm expertForm() {
        return expertForm;
    }

    /** Opaque states that come along, by name. */
    Map<String, ExtraState> extraStates() {
        return extraStates;
    }

    /** Names of tensors and opaque states in the source's order, as the target calls them. */
    List<String> order() throws CheckpointException {
        Map<String, String> renamed = new LinkedHashMap<>();
        model.tensors().values().forEach(tensor -> renamed.put(tensor.source(), tensor.name()));
        List<String> names = new ArrayList<>();
        for (String name : source.order()) {
            if (renamed.containsKey(name)) {
                names.add(renamed.get(name));
            } else {
                moves.target(name).filter(extraStates::containsKey).ifPresent(names::add);
            }
        }
        return MegatronOrder.withExpertsInOrder(names);
    }

    /** An entry of the state as the target has it. */
    PyValue stateEntry(String key, PyValue value) {
        if (key.equals("args")) {
            return MegatronArgs.of(value)
                    .map(this::updated)
                    .map(MegatronArgs::node)
                    .orElse(value);
        }
        if (key.equals("checkpoint_version") && QueryOrder.isOutdated(value)) {
            return new PyFloat(CHECKPOINT_VERSION);
        }
        return key.equals("iteration") && options.resetIterations() ? PyInt.of(0) : value;
    }

    private MegatronArgs updated(MegatronArgs args) {
        Optional<Long> rows = Optional.ofNullable(model.tensors().get(EMBEDDING))
                .map(tensor -> tensor.shape().size(0));
        return MegatronArgsUpdate.apply(args, source.parallelism(), this, rows, format);
    }

    /** Name of the iteration's folder. */
    String iterationFolder() {
        if (options.resetIterations()) {
            return "iter_0000000";
        }
        Optional<String> given = source.iterationFolder().filter(name -> name.matches("iter_\\d{7,18}|release"));
        if (given.isPresent()) {
            return given.get();
        }
        PyValue saved = source.state().entries().get("iteration");
        long iteration = saved instanceof PyInt number ? number.asLong().orElse(0) : 0;
        return "iter_%07d".formatted(iteration);
    }

    /** The file that names the latest iteration. */
    FileImage tracker() {
        String folder = iterationFolder();
        String text = folder.startsWith("iter_") ? Long.toString(Long.parseLong(folder.substring(5))) : folder;
        return HuggingFaceFiles.literal("latest_checkpointed_iteration.txt", text);
    }

    /** Notes what every Megatron target leaves out. */
    void note(TargetLayout layout) {
        moves.notes().forEach(layout::addNote);
        stages.notes().forEach(layout::addNote);
        differences().forEach(difference -> layout.addNote("not the same in Megatron: " + difference));
        int lost = source.extraStates().size() - extraStates.size();
        if (lost > 0) {
            String reason = options.extraState() == Keep.DROP ? "--extra-state drop" : "their modules are left out";
            layout.addDropped(new Dropped(lost + " _extra_state entries", 0, 0, reason));
        }
    }

    /** What Megatron computes differently from the config that a Hugging Face folder has. */
    private List<String> differences() {
        if (source.layout() != ModelView.Layout.HUGGINGFACE || source.pattern().isEmpty()) {
            return List.of();
        }
        return NemotronDifferences.inMegatron(source.config(), source.pattern().get(), source.shapes());
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(Kind.REFUSED, "", problem);
    }
}
