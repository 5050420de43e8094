package dev.shardsmith.reshard.pattern;

import static dev.shardsmith.reshard.pattern.ArgumentRemark.Severity.ERROR;
import static dev.shardsmith.reshard.pattern.ArgumentRemark.Severity.INFO;
import static dev.shardsmith.reshard.pattern.ArgumentRemark.Severity.WARNING;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.StageChoice.PatternField;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The pattern that training arguments stand for, whatever release they are of.
 *
 * <p>In this order: {@code hybrid_layer_pattern}; its older name {@code hybrid_override_pattern}; the ratios of attention and
 * MLP layers; all Mamba, if something says that the model is hybrid at all. An older prediction pattern is appended.
 *
 * @param pattern the pattern; {@link HybridPattern#absent() absent} if nothing says that the model is hybrid
 * @param origin where it comes from
 * @param layout the pipeline stages that the arguments describe, if they can be laid out
 * @param remarks what the rules of the training framework say about the arguments
 */
public record PatternArguments(
        HybridPattern pattern, Origin origin, Optional<StageLayout> layout, List<ArgumentRemark> remarks) {

    /** Where a pattern comes from. */
    public enum Origin {
        /** {@code hybrid_layer_pattern} */
        LAYER_PATTERN("hybrid_layer_pattern"),
        /** {@code hybrid_override_pattern} */
        OVERRIDE_PATTERN("hybrid_override_pattern"),
        /** {@code hybrid_attention_ratio} and {@code hybrid_mlp_ratio} */
        RATIOS("hybrid_attention_ratio"),
        /** A hybrid model that says no more: all layers are Mamba. */
        ALL_MAMBA("num_layers"),
        /** Nothing says that the model is hybrid. */
        NONE("hybrid_layer_pattern");

        private final String field;

        Origin(String field) {
            this.field = field;
        }

        /** The field that holds it. */
        public String field() {
            return field;
        }

        /** What the pattern's place says of the age of the training code. */
        public PatternField patternField() {
            return this == LAYER_PATTERN ? PatternField.LAYER_PATTERN : PatternField.OVERRIDE_PATTERN;
        }
    }

    /** Where arguments come from; a few rules differ. */
    public enum Source {
        /** The namespace of a checkpoint: what the run had after its own rules were applied. */
        SAVED,
        /** What is given to a run that is to start. */
        COMMAND_LINE
    }

    /** Copies the list. */
    public PatternArguments {
        remarks = List.copyOf(remarks);
    }

    /**
     * Finds the pattern of arguments and checks them.
     *
     * @throws CheckpointException if a field cannot be read at all, or the pattern breaks the rules of patterns
     */
    public static PatternArguments of(ArgumentValues args, Source source) throws CheckpointException {
        List<ArgumentRemark> remarks = new ArrayList<>();
        Optional<String> layer = args.text("hybrid_layer_pattern");
        Optional<String> override = args.text("hybrid_override_pattern");
        Origin origin;
        HybridPattern pattern;
        if (layer.isPresent() || override.isPresent()) {
            origin = layer.isPresent() ? Origin.LAYER_PATTERN : Origin.OVERRIDE_PATTERN;
            bothNames(layer, override, source, remarks);
            pattern = predicted(args, layer.or(() -> override).get(), origin, remarks);
            againstRatios(args, pattern, remarks);
        } else {
            origin = origin(args);
            pattern = origin == Origin.NONE ? HybridPattern.absent() : ofRatios(args, remarks);
        }
        Optional<StageLayout> layout = Optional.empty();
        if (origin != Origin.NONE) {
            new PatternArgumentRules(args, source, pattern, remarks).check();
            layout = PatternArgumentRules.layout(args, pattern, remarks);
        }
        return new PatternArguments(pattern, origin, layout, remarks);
    }

    private static void bothNames(
            Optional<String> layer, Optional<String> override, Source source, List<ArgumentRemark> remarks) {
        if (layer.isEmpty()) {
            if (source == Source.COMMAND_LINE) {
                remarks.add(new ArgumentRemark(
                        WARNING,
                        "hybrid_override_pattern",
                        "--hybrid-override-pattern is the older name of --hybrid-layer-pattern",
                        "use --hybrid-layer-pattern"));
            }
            return;
        }
        if (override.isEmpty()) {
            return;
        }
        boolean equal = layer.get().equals(override.get());
        if (!equal || source == Source.COMMAND_LINE) {
            String message = equal
                    ? "both names of the pattern are given"
                    : "hybrid_layer_pattern is %s, but hybrid_override_pattern is %s"
                            .formatted(PatternProblem.shown(layer.get()), PatternProblem.shown(override.get()));
            remarks.add(new ArgumentRemark(
                    ERROR, "hybrid_override_pattern", message, "keep hybrid_layer_pattern and remove the other"));
        }
    }

    private static HybridPattern predicted(
            ArgumentValues args, String text, Origin origin, List<ArgumentRemark> remarks) throws CheckpointException {
        Optional<String> older = args.text("mtp_hybrid_override_pattern");
        int depths = args.integer("mtp_num_layers").orElse(0);
        String whole = text;
        if (older.isPresent() && depths > 0 && depths <= 1000 && text.indexOf('/') < 0) {
            whole = text + ("/" + older.get()).repeat(depths);
            remarks.add(new ArgumentRemark(
                    INFO,
                    "mtp_hybrid_override_pattern",
                    "the prediction part comes from mtp_hybrid_override_pattern: the pattern is " + whole,
                    ""));
        } else if (older.isEmpty() && depths > 0 && text.indexOf('/') < 0) {
            remarks.add(new ArgumentRemark(
                    WARNING,
                    "mtp_num_layers",
                    "mtp_num_layers is %d, but the pattern has no prediction part".formatted(depths),
                    "end the pattern with / and the layers of one prediction depth"));
        }
        HybridPattern pattern = HybridPattern.parse(whole, args.where() + ", " + origin.field());
        pattern.remarks().forEach(remark -> remarks.add(new ArgumentRemark(WARNING, origin.field(), remark, "")));
        return pattern;
    }

    private static Origin origin(ArgumentValues args) throws CheckpointException {
        boolean ratios = args.real("hybrid_attention_ratio").orElse(0) != 0
                || args.real("hybrid_mlp_ratio").orElse(0) != 0;
        if (ratios) {
            return Origin.RATIOS;
        }
        boolean hybrid = args.flag("is_hybrid_model")
                || args.text("spec")
                        .map(spec -> spec.contains("mamba") || spec.contains("hybrid"))
                        .orElse(false);
        return hybrid && args.has("num_layers") ? Origin.ALL_MAMBA : Origin.NONE;
    }

    private static HybridPattern ofRatios(ArgumentValues args, List<ArgumentRemark> remarks)
            throws CheckpointException {
        double attention = args.real("hybrid_attention_ratio").orElse(0);
        double mlp = args.real("hybrid_mlp_ratio").orElse(0);
        HybridPattern pattern = RatioPattern.of(args.integer("num_layers").orElse(0), attention, mlp);
        if (attention != 0 || mlp != 0) {
            remarks.add(new ArgumentRemark(
                    WARNING,
                    "hybrid_attention_ratio",
                    "the pattern comes from ratios, which releases since 0.17 no longer read",
                    "give --hybrid-layer-pattern '" + pattern.text() + "'"));
        }
        return pattern;
    }

    private static void againstRatios(ArgumentValues args, HybridPattern pattern, List<ArgumentRemark> remarks)
            throws CheckpointException {
        double attention = args.real("hybrid_attention_ratio").orElse(0);
        double mlp = args.real("hybrid_mlp_ratio").orElse(0);
        if (attention == 0 && mlp == 0) {
            return;
        }
        long attentionTarget = (long) Math.rint(pattern.layerCount() * attention);
        long mlpTarget = (long) Math.rint(pattern.layerCount() * mlp);
        long attentionCount = pattern.layers().stream()
                .filter(kind -> kind == LayerKind.ATTENTION)
                .count();
        long mlpCount =
                pattern.layers().stream().filter(kind -> kind == LayerKind.MLP).count();
        if (attentionCount != attentionTarget || mlpCount != mlpTarget) {
            remarks.add(new ArgumentRemark(
                    WARNING,
                    "hybrid_attention_ratio",
                    "the ratios ask for %d attention and %d MLP layers, the pattern has %d and %d; the pattern counts, and releases before 0.17 refuse this"
                            .formatted(attentionTarget, mlpTarget, attentionCount, mlpCount),
                    "remove the ratios"));
        }
    }
}
