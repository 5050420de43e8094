package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.validate.Finding.Severity;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the saved options of a checkpoint say of its model and its weights deny, for whoever writes them on. */
public final class ArgumentContradictions {
    private ArgumentContradictions() {}

    /**
     * Every contradiction, each with what to do; empty for models without such options.
     *
     * @param view a checkpoint
     * @param set options that are set to another value, as text
     * @param pattern the pattern that takes the saved one's place, if one does
     */
    public static List<Finding> of(ModelView view, Map<String, String> set, Optional<String> pattern) {
        Optional<MegatronArgs> args = view.state().args();
        if (view.family() != ModelView.Family.MEGATRON || args.isEmpty()) {
            return List.of();
        }
        Map<String, String> values =
                new LinkedHashMap<>(SavedArguments.of(args.get()).all());
        values.putAll(set);
        ArgumentValues saved = ArgumentValues.of("saved args", values);
        Findings findings = new Findings();
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
