package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.pattern.Stage;
import dev.shardsmith.reshard.pattern.StageChoice;
import dev.shardsmith.reshard.pattern.StageChoice.PatternField;
import dev.shardsmith.reshard.pattern.StageLayout;
import dev.shardsmith.reshard.pattern.StageTarget;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Which stage of a target holds which parameter, and with which local layer number.
 *
 * @param layout the stages in the order of the model
 * @param pattern the pattern to save, if the model has one
 * @param notes what was chosen and why
 */
record MegatronStages(StageLayout layout, Optional<String> pattern, List<String> notes) {

    /** Chooses the stages of a target. */
    static MegatronStages choose(ModelView source, ConversionOptions options) throws CheckpointException {
        int layers = layers(source);
        int pipeline = options.pipeline().orElse(source.parallelism().pipeline());
        OptionalInt virtual = virtual(source, options, pipeline);
        Optional<HybridPattern> saved = savedPattern(source, layers);
        Optional<HybridPattern> wanted = options.pattern().isPresent()
                ? Optional.of(HybridPattern.parse(options.pattern().get()))
                : Optional.empty();
        HybridPattern pattern = saved.or(() -> wanted)
                .orElseGet(() -> HybridPattern.of(Collections.nCopies(layers, LayerKind.ATTENTION)));
        if (pattern.layerCount() != layers) {
            throw CheckpointException.of(
                    Kind.REFUSED,
                    "pattern " + pattern.text(),
                    "the pattern has " + pattern.layerCount() + " layers, the checkpoint holds " + layers);
        }
        PatternField field = source.state()
                        .args()
                        .flatMap(args -> args.text("hybrid_layer_pattern"))
                        .isPresent()
                ? PatternField.LAYER_PATTERN
                : PatternField.OVERRIDE_PATTERN;
        StageChoice choice = StageChoice.choose(
                pattern, field, new StageTarget(pipeline, virtual, wanted, options.pipelineLayers()));
        boolean hybrid = saved.isPresent() || wanted.isPresent();
        return new MegatronStages(
                choice.layout(),
                hybrid ? Optional.of(choice.layout().pattern().text()) : Optional.empty(),
                choice.notes());
    }

    /** Number of decoder layers that a view holds. */
    static int layers(ModelView source) {
        int layers = 0;
        for (String name : source.tensors().keySet()) {
            layers = Math.max(layers, MegatronName.parse(name).layer().orElse(-1) + 1);
        }
        return layers;
    }

    private static OptionalInt virtual(ModelView source, ConversionOptions options, int pipeline) {
        if (options.virtual().isPresent()) {
            return options.virtual().getAsInt() > 1 ? options.virtual() : OptionalInt.empty();
        }
        boolean keeps = pipeline == source.parallelism().pipeline()
                && source.parallelism().virtual() > 1
                && options.pattern().isEmpty()
                && options.pipelineLayers().isEmpty();
        return keeps ? OptionalInt.of(source.parallelism().virtual()) : OptionalInt.empty();
    }

    private static Optional<HybridPattern> savedPattern(ModelView source, int layers) throws CheckpointException {
        Optional<MegatronArgs> args = source.state().args();
        if (source.pattern().isEmpty()) {
            return Optional.empty();
        }
        HybridPattern saved = HybridPattern.parse(source.pattern().get());
        if (saved.layerCount() == layers) {
            return Optional.of(saved);
        }
        throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        "saved options, hybrid_layer_pattern " + saved.text(),
                        "the saved pattern has " + saved.layerCount() + " layers, the files hold " + layers
                                + args.map(given -> ", num_layers is " + given.integer("num_layers", -1))
                                        .orElse(""))
                .withHint("'shardsmith validate' shows which layers the weights have; give the right --pattern");
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
