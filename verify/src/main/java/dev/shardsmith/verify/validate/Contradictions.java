package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.claims.ConfigurationClaims;
import dev.shardsmith.verify.claims.Contradiction;
import dev.shardsmith.verify.validate.Finding.Effect;
import dev.shardsmith.verify.validate.Finding.Severity;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What the saved options or the configuration of a checkpoint say of its model and its weights deny, for whoever goes by them.
 *
 * @param findings every contradiction, each with what to do if that is known
 */
public record Contradictions(List<Finding> findings) {
    private static final String CONFIG = "config.json";

    /**
     * Every contradiction that options, names and shapes tell; no tensor is read.
     *
     * @param view a checkpoint
     * @param set saved options that are set to another value, as text
     * @param pattern the pattern that takes the saved one's place, if one does
     */
    public static Contradictions of(ModelView view, Map<String, String> set, Optional<String> pattern) {
        List<Finding> all = new ArrayList<>(configuration(view));
        // Options that were made from the configuration have been looked at with it.
        boolean own = !view.stateIsDerived() || all.isEmpty();
        all.addAll(own ? arguments(view, set, pattern) : List.of());
        return new Contradictions(List.copyOf(all));
    }

    /**
     * Every contradiction as {@link #of}, and what only elements tell: that two tensors which the options make one are not.
     *
     * @param set saved options that are set to another value, as text
     */
    public static Contradictions withValues(ModelView view, Map<String, String> set) throws IOException {
        Findings values = new Findings();
        TiedHead.check(view, values);
        List<Finding> all = new ArrayList<>(of(view, set, Optional.empty()).findings());
        all.addAll(values.all());
        return new Contradictions(List.copyOf(all));
    }

    /** The first contradiction with which no forward pass can go by the options, if there is one. */
    public Optional<Finding> preventing() {
        return with(Effect.PREVENTS).findFirst();
    }

    /** The contradictions with which a forward pass may be that of another model. */
    public List<Finding> doubts() {
        return with(Effect.DOUBT).toList();
    }

    private Stream<Finding> with(Effect effect) {
        return findings.stream().filter(finding -> finding.effect() == effect);
    }

    /** What {@code config.json} says, and the weights deny. */
    static List<Finding> configuration(ModelView view) {
        List<Finding> all = new ArrayList<>();
        for (Contradiction contradiction : ConfigurationClaims.check(view.config(), view.storedShapes())) {
            String fields = String.join(", ", contradiction.fields());
            all.add(new Finding(
                    code(contradiction.kind()),
                    Severity.ERROR,
                    fields.isEmpty() ? CONFIG : CONFIG + ", " + fields,
                    contradiction.message(),
                    "",
                    contradiction.kind().forbidsRunning() ? Effect.PREVENTS : Effect.DOUBT));
        }
        return all;
    }

    private static String code(Contradiction.Kind kind) {
        return switch (kind) {
            case OPTION -> "config.option";
            case SHAPE -> "config.shape";
            case LAYER_KIND -> "config.kind";
            case LAYER_COUNT -> "config.layers";
            case PRESENCE -> "config.presence";
        };
    }

    private static List<Finding> arguments(ModelView view, Map<String, String> set, Optional<String> pattern) {
        Optional<MegatronArgs> args = view.state().args();
        if (view.family() != ModelView.Family.MEGATRON || args.isEmpty()) {
            return List.of();
        }
        Map<String, String> values =
                new LinkedHashMap<>(SavedArguments.of(args.get()).all());
        values.putAll(set);
        ArgumentValues saved = ArgumentValues.of("saved args", values);
        Findings findings = new Findings();
        TiedHead.surplus(view, findings);
        WeightModel model = WeightModel.of(view);
        Map<String, Fact> facts = WeightFacts.of(model, new Findings());
        try {
            Optional<String> said = pattern.or(view::pattern);
            if (said.isPresent() && !model.isTransformer()) {
                String fix = model.pattern()
                        .map(found -> "--pattern '" + found.text() + "'")
                        .orElse("");
                new PatternCheck(model, view.parallelism().pipeline(), findings)
                        .compare(
                                pattern.isPresent() ? "given pattern" : "saved pattern",
                                HybridPattern.parse(said.get()),
                                fix);
            }
            new ArgumentCheck(saved, facts, model, findings).check(Optional.empty());
        } catch (CheckpointException unreadable) {
            findings.error("args.unreadable", unreadable.where(), unreadable.problem(), "");
        }
        return findings.all().stream()
                .filter(finding -> finding.severity() == Severity.ERROR)
                .toList();
    }
}
