package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.completeness.Completeness;
import dev.shardsmith.reshard.completeness.Gap;
import dev.shardsmith.reshard.completeness.ShapeAgreement;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.PatternArguments;
import dev.shardsmith.reshard.pattern.PatternArguments.Origin;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Validates a checkpoint: against itself, and against what is said about it. */
public final class Validator {
    /** More than this says no more. */
    private static final int MOST_GAPS = 100;

    private final ModelView view;
    private final ValidateOptions options;
    private final Findings findings = new Findings();

    private Validator(ModelView view, ValidateOptions options) {
        this.view = view;
        this.options = options;
    }

    /**
     * Validates a checkpoint.
     *
     * @throws CheckpointException if it cannot be read; what is readable and wrong is a finding
     */
    public static Validation validate(ModelView view, ValidateOptions options) throws IOException {
        return new Validator(view, options).validate();
    }

    private Validation validate() throws IOException {
        for (String warning : view.warningsBesidesMissing()) {
            findings.warning("checkpoint", view.path().toString(), warning, "");
        }
        for (String conflict : view.conflicts()) {
            findings.error(
                    "ranks.differ", view.path().toString(), conflict, "bring the files of one iteration together");
        }
        for (String problem : ShapeAgreement.problems(view)) {
            findings.error("shape.differs", view.path().toString(), problem, "");
        }
        optimizer();
        // Without a known family no name is known, and to say so for each would hide what is wrong.
        if (view.family() != Family.PLAIN) {
            for (String name : view.unknown()) {
                findings.warning("keys.unknown", name, "no rule knows this parameter", "convert needs --rule for it");
            }
        }
        Optional<ArgumentValues> saved = view.state().args().map(SavedArguments::of);
        boolean shifted = saved.isPresent() && saved.get().flag("apply_layernorm_1p");
        List<Gap> gaps = Completeness.of(view);
        gaps(gaps);
        configuration(gaps);
        Validation result = view.family() == Family.MEGATRON ? megatron(saved, gaps) : other();
        if (options.values() == ValidateOptions.Values.READ) {
            ArchiveCheck.check(view, findings);
            CopiedRanks.check(view, findings);
            TiedHead.check(view, findings);
            new ValueCheck(view, shifted, findings).check(options.workers());
        }
        return new Validation(
                result.saved(), result.given(), result.inferred(), result.layers(), result.launch(), findings.all());
    }

    private void gaps(List<Gap> gaps) {
        for (Gap gap : gaps.subList(0, Math.min(gaps.size(), MOST_GAPS))) {
            String code = switch (gap.kind()) {
                case TENSOR -> "keys.missing";
                case EXPERT -> "experts.count";
                case LAYER, LAST_LAYER -> "layers.missing";
            };
            findings.error(code, gap.name(), "it is missing: " + gap.reason(), "");
        }
        if (gaps.size() > MOST_GAPS) {
            findings.error(
                    "keys.missing",
                    view.path().toString(),
                    (gaps.size() - MOST_GAPS) + " more tensors or layers are missing",
                    "");
        }
    }

    /** What the configuration says and the weights deny; that layers are missing has been said. */
    private void configuration(List<Gap> gaps) {
        boolean missing = gaps.stream()
                .anyMatch(gap -> gap.kind() == Gap.Kind.LAYER
                        || gap.kind() == Gap.Kind.LAST_LAYER
                        || gap.name().matches(".*layers\\.\\d+\\.\\*"));
        for (Finding finding : Contradictions.configuration(view)) {
            if (!(missing && finding.code().equals("config.layers"))) {
                findings.add(finding);
            }
        }
        TiedHead.surplus(view, findings);
    }

    private void optimizer() throws IOException {
        boolean wanted = options.optimizer() == ValidateOptions.Optimizer.WANTED;
        if (wanted && view.optimizerState().damaged()) {
            findings.error(
                    "optimizer.incomplete",
                    view.path().toString(),
                    "of the optimizer's state, "
                            + view.optimizerState().obstacle().orElseThrow(),
                    "find the missing files; or train with --no-load-optim");
        }
        if (wanted && !view.state().entries().containsKey("optimizer")) {
            findings.error(
                    "optimizer.missing",
                    view.path().toString(),
                    "there is no optimizer state: a run can load the weights, but not go on where it stopped",
                    "train with --no-load-optim");
        }
    }

    private Validation other() throws CheckpointException {
        Optional<HybridPattern> given = given();
        if (given.isPresent() || options.launch().isPresent()) {
            findings.warning(
                    "family",
                    view.path().toString(),
                    "the model is of the family %s, whose layers are not compared with patterns or options"
                            .formatted(view.family().id()),
                    "");
        }
        return new Validation(view.pattern(), options.pattern(), Optional.empty(), List.of(), List.of(), List.of());
    }

    private Validation megatron(Optional<ArgumentValues> saved, List<Gap> gaps) throws CheckpointException {
        WeightModel model = WeightModel.of(view);
        new KeyCheck(model, findings).check(gaps);
        Map<String, Fact> facts = new LinkedHashMap<>(WeightFacts.of(model, findings));
        Optional<PatternArguments> described = model.isTransformer() ? transformer() : described(saved);
        Optional<HybridPattern> savedPattern = described
                .filter(arguments -> arguments.origin() != Origin.NONE)
                .map(PatternArguments::pattern)
                .or(() -> model.isTransformer() ? Optional.empty() : viewPattern());
        Optional<HybridPattern> inferred = model.patternWithStages(
                savedPattern.map(HybridPattern::hasPipes).orElse(false));
        PatternCheck patterns = new PatternCheck(model, view.parallelism().pipeline(), findings);
        if (savedPattern.isPresent()) {
            String fix = inferred.map(pattern -> "convert --pattern '" + pattern.text() + "'")
                    .orElse("");
            patterns.compare("saved pattern", savedPattern.get(), fix);
            described.flatMap(PatternArguments::layout).ifPresent(patterns::compareStages);
        }
        Optional<HybridPattern> given = given();
        if (given.isPresent()) {
            String fix =
                    model.isTransformer() ? "'shardsmith convert --model hybrid' makes one of this Transformer" : "";
            patterns.compare("given pattern", given.get(), fix);
        }
        // Options that were made from config.json are looked at as what that says.
        if (saved.isPresent() && !view.stateIsDerived()) {
            new ArgumentCheck(saved.get(), facts, model, findings).check(described);
        }
        conventions(model);
        ModelArguments effective = new ModelArguments(saved.orElse(ArgumentValues.of("args", Map.of())));
        TargetCheck target = new TargetCheck(model, facts, effective, findings);
        if (options.tensor().isPresent()) {
            target.tensor(options.tensor().getAsInt());
        }
        if (options.pipeline().isPresent()) {
            target.pipeline(options.pipeline().getAsInt(), savedPattern);
        }
        List<LaunchRow> launch = options.launch().isPresent()
                ? new LaunchCheck(options.launch().get(), saved, facts, model, view, findings).check()
                : List.of();
        return new Validation(
                savedPattern.map(HybridPattern::text),
                options.pattern(),
                inferred.map(HybridPattern::text),
                patterns.table(given.or(() -> savedPattern)),
                launch,
                List.of());
    }

    /** A Transformer has no pattern, and ratios of layer kinds say nothing about it. */
    private Optional<PatternArguments> transformer() {
        findings.info(
                "model.transformer",
                "decoder.layers",
                "every layer has attention and a feed-forward part: this is a Transformer, which has no hybrid layer pattern");
        if (view.pattern().isPresent()) {
            findings.warning(
                    "args.pattern",
                    "args.hybrid_layer_pattern",
                    "the saved args have the pattern %s, but the weights are a Transformer's: a hybrid run cannot load them"
                            .formatted(view.pattern().get()),
                    "convert --model hybrid, or --set hybrid_layer_pattern=None");
        }
        return Optional.empty();
    }

    private Optional<PatternArguments> described(Optional<ArgumentValues> saved) {
        if (saved.isEmpty()) {
            return Optional.empty();
        }
        try {
            return Optional.of(PatternArguments.of(saved.get(), PatternArguments.Source.SAVED));
        } catch (CheckpointException e) {
            findings.error("args.pattern", e.where(), e.problem(), e.hint().orElse(""));
            return Optional.empty();
        }
    }

    private Optional<HybridPattern> viewPattern() {
        try {
            return view.pattern().isPresent()
                    ? Optional.of(HybridPattern.parse(view.pattern().get()))
                    : Optional.empty();
        } catch (CheckpointException e) {
            findings.error("args.pattern", e.where(), e.problem(), e.hint().orElse(""));
            return Optional.empty();
        }
    }

    private Optional<HybridPattern> given() throws CheckpointException {
        return options.pattern().isPresent()
                ? Optional.of(HybridPattern.parse(options.pattern().get(), "--pattern"))
                : Optional.empty();
    }

    /** Says what a run of another release or with other layer implementations would not find. */
    private void conventions(WeightModel model) {
        boolean oldNames = model.layers().values().stream().anyMatch(layer -> layer.has("mixer.conv1d.weight"));
        if (oldNames && view.layout() == ModelView.Layout.MEGATRON) {
            findings.info(
                    "keys.conv1d",
                    "mixer.conv1d.weight",
                    "the convolution has the name of releases up to core 0.18; later ones do not find it and say so in one line"
                            + " only (convert --conv1d-naming new)");
        }
        long fused = model.layers().values().stream()
                .filter(layer -> layer.tensors().keySet().stream().anyMatch(key -> key.endsWith(".layer_norm_weight")))
                .count();
        String style = fused > 0
                ? "norms are fused into the linear layers (Transformer Engine)"
                : "norms are layers of their own (local)";
        findings.info("keys.style", "decoder.layers", style);
    }
}
