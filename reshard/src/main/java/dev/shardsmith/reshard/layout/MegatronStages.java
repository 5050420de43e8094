package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.family.LayerMoves;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.pattern.EdgeStages;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.pattern.Stage;
import dev.shardsmith.reshard.pattern.StageChoice;
import dev.shardsmith.reshard.pattern.StageChoice.PatternField;
import dev.shardsmith.reshard.pattern.StageLayout;
import dev.shardsmith.reshard.pattern.StageTarget;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Model;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.RankShard;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which stage of a target holds which parameter, and with which local layer number.
 *
 * @param layout the stages in the order of the model
 * @param pattern the pattern to save, if the model has one
 * @param kept whether the stages are those of the source, so that saved options that describe them hold
 * @param notes what was chosen and why
 */
record MegatronStages(StageLayout layout, Optional<String> pattern, boolean kept, List<String> notes) {

    /** Chooses the stages of a target. */
    static MegatronStages choose(ModelView source, ConversionOptions options, LayerMoves moves)
            throws CheckpointException {
        int layers = moves.layers();
        int pipeline = options.pipeline().orElse(source.parallelism().pipeline());
        boolean hybrid = moves.model() == Model.HYBRID;
        Optional<HybridPattern> wanted = options.pattern().isPresent()
                ? Optional.of(HybridPattern.parse(options.pattern().get()))
                : Optional.empty();
        HybridPattern pattern = moves.pattern().or(() -> wanted).orElseGet(() -> anonymous(layers));
        if (pattern.layerCount() != layers) {
            throw CheckpointException.of(
                    Kind.REFUSED,
                    "pattern " + pattern.text(),
                    "the pattern has " + pattern.layerCount() + " layers, the checkpoint holds " + layers);
        }
        boolean named = hybrid && (moves.pattern().isPresent() || wanted.isPresent());
        if (!moves.changed() && keepsStages(source, options, pipeline)) {
            Optional<StageLayout> same = sourceStages(source, pattern);
            if (same.isPresent()) {
                return new MegatronStages(same.get(), text(named, same.get()), true, List.of());
            }
        }
        OptionalInt virtual = virtual(source, options, pipeline, moves);
        boolean uneven = !hybrid && virtual.isEmpty() && layers >= pipeline && layers % pipeline != 0;
        List<Integer> counts = uneven && options.pipelineLayers().isEmpty()
                ? transformerCounts(layers, pipeline)
                : options.pipelineLayers();
        StageTarget target = new StageTarget(pipeline, virtual, hybrid ? wanted : Optional.empty(), counts);
        StageChoice choice = StageChoice.choose(pattern, field(source), target);
        requireEdges(hybrid, choice.layout());
        List<String> notes = new ArrayList<>(named ? choice.notes() : List.of());
        return new MegatronStages(choice.layout(), text(named, choice.layout()), false, notes);
    }

    /** Layers of each stage, all between the first and the last being equal. */
    private static List<Integer> transformerCounts(int layers, int pipeline) {
        int inner = pipeline - 2;
        int each = Math.min((2 * layers + pipeline) / (2 * pipeline), inner == 0 ? layers : (layers - 2) / inner);
        int rest = layers - inner * each;
        List<Integer> counts = new ArrayList<>(Collections.nCopies(pipeline, each));
        counts.set(0, rest - rest / 2);
        counts.set(pipeline - 1, rest / 2);
        return counts;
    }

    /** A Transformer's options can describe other counts for its first and its last stage only. */
    private static void requireEdges(boolean hybrid, StageLayout layout) throws CheckpointException {
        List<Integer> counts = layout.layerCounts();
        boolean even = counts.stream().distinct().count() <= 1;
        boolean inner = counts.size() <= 2
                || counts.subList(1, counts.size() - 1).stream().distinct().count() <= 1;
        if (hybrid || even || layout.vpSize() == 1 && inner) {
            return;
        }
        throw CheckpointException.of(
                        Kind.REFUSED,
                        "layers per stage " + counts,
                        "a Transformer's saved options have counts for the first and the last stage only"
                                + (layout.vpSize() > 1 ? ", and none for virtual stages" : ""))
                .withHint("--pp-layers with equal stages between the first and the last");
    }

    /** A pattern of so many layers whose kind does not matter. */
    private static HybridPattern anonymous(int layers) {
        return HybridPattern.of(Collections.nCopies(layers, LayerKind.ATTENTION));
    }

    private static Optional<String> text(boolean named, StageLayout layout) {
        return named ? Optional.of(layout.pattern().text()) : Optional.empty();
    }

    private static PatternField field(ModelView source) {
        boolean current = source.state()
                .args()
                .flatMap(args -> args.text("hybrid_layer_pattern"))
                .isPresent();
        return current ? PatternField.LAYER_PATTERN : PatternField.OVERRIDE_PATTERN;
    }

    private static boolean keepsStages(ModelView source, ConversionOptions options, int pipeline) {
        return pipeline == source.parallelism().pipeline()
                && options.virtual().orElse(source.parallelism().virtual())
                        == source.parallelism().virtual()
                && options.pattern().isEmpty()
                && options.pipelineLayers().isEmpty();
    }

    /**
     * The stages of the source where its files show them, or where the saved options give counts for the first or last one.
     * Even stages are left to the usual choice, which finds the same.
     */
    private static Optional<StageLayout> sourceStages(ModelView source, HybridPattern pattern)
            throws CheckpointException {
        List<Integer> counts = counts(source);
        int pipeline = source.parallelism().pipeline();
        if (pipeline == 1) {
            return Optional.empty();
        }
        EdgeStages edges = source.state()
                .args()
                .map(args -> new EdgeStages(
                        count(args, "decoder_first_pipeline_num_layers"),
                        count(args, "decoder_last_pipeline_num_layers")))
                .orElse(EdgeStages.NONE);
        if (edges.given() && !pattern.hasPipes()) {
            StageLayout layout = StageLayout.of(pattern, pipeline, OptionalInt.empty(), edges);
            boolean fits = layout.error().isEmpty()
                    && (counts.isEmpty() || layout.layerCounts().equals(counts));
            return fits ? Optional.of(layout) : Optional.empty();
        }
        boolean even = counts.stream().distinct().count() <= 1;
        boolean described = pattern.hasPipes() && pattern.segments().size() == counts.size();
        if (counts.isEmpty() || even || described) {
            return Optional.empty();
        }
        return Optional.of(StageLayout.ofLayerCounts(pattern.withoutPipes(), pipeline, counts));
    }

    private static OptionalInt count(MegatronArgs args, String field) {
        OptionalLong value = args.integer(field);
        return value.isPresent()
                ? OptionalInt.of((int) Math.min(Integer.MAX_VALUE, value.getAsLong()))
                : OptionalInt.empty();
    }

    /** Layers of each stage in the order of the model, as the rank files have them; empty for layouts without such files. */
    private static List<Integer> counts(ModelView source) {
        if (source.layout() != ModelView.Layout.MEGATRON) {
            return List.of();
        }
        TreeMap<Integer, Set<Integer>> held = new TreeMap<>();
        for (RankShard rank : source.ranks()) {
            Set<Integer> layers = held.computeIfAbsent(
                    rank.virtual() * source.parallelism().pipeline() + rank.pipeline(), stage -> new HashSet<>());
            for (String name : rank.tensors().keySet()) {
                MegatronName.parse(name).layer().ifPresent(layers::add);
            }
        }
        return held.values().stream().map(Set::size).toList();
    }

    private static OptionalInt virtual(ModelView source, ConversionOptions options, int pipeline, LayerMoves moves) {
        if (options.virtual().isPresent()) {
            return options.virtual().getAsInt() > 1 ? options.virtual() : OptionalInt.empty();
        }
        int virtual = source.parallelism().virtual();
        boolean keeps = pipeline == source.parallelism().pipeline()
                && virtual > 1
                && moves.layers() >= pipeline * virtual
                && options.pattern().isEmpty()
                && options.pipelineLayers().isEmpty();
        return keeps ? OptionalInt.of(virtual) : OptionalInt.empty();
    }

    /** The stages in the order of the model. */
    List<Stage> stages() {
        return layout.stages();
    }

    /** The number of the stage that holds a parameter, in the order of the model. */
    int stageOf(MegatronName name) {
        if (name.layer().isPresent()) {
            for (int stage = 0; stage < stages().size(); stage++) {
                if (stages().get(stage).holds(name.layer().getAsInt())) {
                    return stage;
                }
            }
            throw new IllegalStateException("no stage holds " + name.key());
        }
        return name.suffix().startsWith("embedding.") ? 0 : last();
    }

    /**
     * Counts for the first and the last stage that describe a Transformer's stages; empty for even stages, and for a pattern
     * that says where stages end.
     */
    Optional<EdgeStages> edges() {
        List<Integer> counts = layout.layerCounts();
        boolean even = counts.stream().distinct().count() == 1;
        if (pattern.isPresent() || even) {
            return Optional.empty();
        }
        return Optional.of(
                new EdgeStages(OptionalInt.of(counts.get(0)), OptionalInt.of(counts.get(counts.size() - 1))));
    }

    /** The number of the last stage. */
    int last() {
        return stages().size() - 1;
    }

    /** The key of a parameter in the file of its stage. */
    MegatronName local(MegatronName name) {
        return name.layer().isPresent()
                ? name.inLayer(
                        name.layer().getAsInt() - stages().get(stageOf(name)).offset())
                : name;
    }
}
