package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.PatternProblem.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * Chooses the stages of a conversion's target.
 *
 * <p>In this order: the pattern or the layer counts that the user gives; the pipes that are there, if they make the wanted
 * number of segments; equal segments; segments that differ by one layer.
 *
 * @param layout the stages; its pattern is what the target's settings must say
 * @param notes what was chosen and why, where the user may want to know
 */
public record StageChoice(StageLayout layout, List<String> notes) {

    /** Which setting of the source holds the pattern; it tells how old the training code is. */
    public enum PatternField {
        /** {@code hybrid_layer_pattern}: pipes are known, and pipelines without them are deprecated. */
        LAYER_PATTERN,
        /** {@code hybrid_override_pattern} or none: the code may not know pipes. */
        OVERRIDE_PATTERN
    }

    /** Copies the list. */
    public StageChoice {
        notes = List.copyOf(notes);
    }

    /**
     * Chooses the stages.
     *
     * @param source the source's pattern, with its pipes
     * @throws CheckpointException of kind {@code REFUSED} if what is asked for does not fit the model
     */
    public static StageChoice choose(HybridPattern source, PatternField field, StageTarget target)
            throws CheckpointException {
        try {
            return chooseOrFault(source, field, target);
        } catch (PatternFault fault) {
            throw fault.problem().toException("hybrid layer pattern " + PatternProblem.shown(source.text()));
        }
    }

    static StageChoice chooseOrFault(HybridPattern source, PatternField field, StageTarget target) throws PatternFault {
        List<String> notes = new ArrayList<>();
        HybridPattern pattern = pattern(source, field, target, notes);
        OptionalInt virtual = pattern.hasPipes() ? target.vpSize() : OptionalInt.empty();
        StageLayout layout = StageLayout.ofOrFault(pattern, target.ppSize(), virtual, EdgeStages.NONE);
        if (layout.error().isPresent()) {
            throw new PatternFault(Rule.STAGES, layout.error().get().message(), 0, "");
        }
        layout.remarks().forEach(remark -> notes.add(remark.message()));
        return new StageChoice(layout, notes);
    }

    private static HybridPattern pattern(
            HybridPattern source, PatternField field, StageTarget target, List<String> notes) throws PatternFault {
        if (target.pattern().isPresent() && !target.layerCounts().isEmpty()) {
            throw new PatternFault(
                    Rule.LAYER_COUNTS, "a pattern and layers per stage are both given", 0, "give one of them");
        }
        if (target.pattern().isPresent()) {
            HybridPattern given = target.pattern().get();
            requireSameModel(source, given);
            if (given.hasPipes()) {
                return given;
            }
        }
        if (!target.layerCounts().isEmpty()) {
            HybridPattern counted = StageLayout.countedOrFault(source, target.ppSize(), target.layerCounts());
            warnOld(field, notes);
            return counted;
        }
        long wanted = (long) target.ppSize() * target.vpSize().orElse(1);
        if (target.ppSize() < 1 || wanted < 1 || wanted > 1_000_000) {
            throw new PatternFault(Rule.STAGES, wanted + " stages are impossible", 0, "");
        }
        if (target.vpSize().orElse(1) > 1 && target.ppSize() == 1) {
            throw new PatternFault(
                    Rule.STAGES,
                    "virtual stages need more than one pipeline stage",
                    0,
                    "leave out --vpp or raise --pp");
        }
        int stages = (int) wanted;
        if (stages == 1) {
            return source.withoutPipes();
        }
        if (source.hasPipes() && source.segments().size() == stages) {
            return source;
        }
        return divided(source, field, stages, target.vpSize().orElse(1), notes);
    }

    private static HybridPattern divided(
            HybridPattern source, PatternField field, int stages, int virtual, List<String> notes) throws PatternFault {
        int layers = source.layerCount();
        if (layers < stages) {
            String message = "%d layers cannot fill %d stages".formatted(layers, stages);
            throw new PatternFault(
                    Rule.UNEVEN_LAYERS, message, 0, "ask for fewer stages, or give --pp-layers with zeros to force it");
        }
        List<Integer> counts = StageLayout.balanced(layers, stages);
        if (layers % stages != 0) {
            notes.add("%d layers do not divide by %d stages; they are divided %s".formatted(layers, stages, counts));
            warnOld(field, notes);
        } else if (virtual == 1 && (field == PatternField.OVERRIDE_PATTERN || !source.hasPipes())) {
            // Megatron's own checkpoints keep a pattern without pipes as it is for every even division.
            return source.withoutPipes();
        } else if (virtual > 1) {
            warnOld(field, notes);
        }
        return source.withPipesOrFault(counts);
    }

    private static void warnOld(PatternField field, List<String> notes) {
        if (field == PatternField.OVERRIDE_PATTERN) {
            notes.add("the pattern now has pipes, which Megatron core knows since 0.17; older releases cannot load it");
        }
    }

    private static void requireSameModel(HybridPattern source, HybridPattern given) throws PatternFault {
        if (given.layerCount() != source.layerCount()) {
            String message = "the given pattern has %d layers, the model has %d"
                    .formatted(given.layerCount(), source.layerCount());
            throw new PatternFault(Rule.OTHER_MODEL, message, 0, "divide the model's own pattern " + source.text());
        }
        for (int layer = 0; layer < given.layerCount(); layer++) {
            LayerKind theirs = given.layers().get(layer);
            LayerKind ours = source.layers().get(layer);
            if (theirs != ours) {
                String message = "layer %d is %s in the given pattern and %s in the model"
                        .formatted(layer, theirs.symbol(), ours.symbol());
                throw new PatternFault(Rule.OTHER_MODEL, message, 0, "divide the model's own pattern " + source.text());
            }
        }
        if (!given.mtp().equals(source.mtp()) || given.mtpDepths() != source.mtpDepths()) {
            throw new PatternFault(
                    Rule.OTHER_MODEL,
                    "the given pattern has another prediction part than the model",
                    0,
                    "end it as the model's own pattern " + source.text());
        }
    }
}
