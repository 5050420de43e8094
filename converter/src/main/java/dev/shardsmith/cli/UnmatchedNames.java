package dev.shardsmith.cli;

import dev.shardsmith.reshard.completeness.Completeness;
import dev.shardsmith.reshard.completeness.Gap;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Warns of names and patterns on the command line that are those of nothing: mostly they are misspelled. */
final class UnmatchedNames {
    private UnmatchedNames() {}

    /** Warns of each pattern that matches none of some names. */
    static void warn(Out out, String option, List<String> patterns, Iterable<String> names) {
        for (String pattern : patterns) {
            Glob glob = Glob.of(pattern);
            boolean matched = false;
            for (String name : names) {
                matched |= glob.matches(name);
            }
            if (!matched) {
                out.warn("--%s '%s' matches nothing and has no effect".formatted(option, pattern));
            }
        }
    }

    /** Warns of what the options of a conversion name in vain. */
    static void warn(Out out, Arguments line, ModelView source, ConversionOptions options) {
        if (line.has("allow-missing")) {
            List<String> missing =
                    Completeness.of(source).stream().map(Gap::name).toList();
            warn(out, "allow-missing", line.values("allow-missing"), missing);
        }
        if (line.has("rule")) {
            List<String> names = new ArrayList<>(source.tensors().keySet());
            names.addAll(source.unknown());
            List<String> globs =
                    options.rules().stream().map(rule -> rule.names().text()).toList();
            warn(out, "rule", globs, names);
        }
        Optional<MegatronArgs> args = source.state().args();
        for (String field : options.set().keySet()) {
            if (args.isPresent() && !args.get().has(field)) {
                String near = Nearest.to(field, args.get().names())
                        .map(known -> "; did you mean " + known + "?")
                        .orElse("");
                out.warn("--set %s: the saved options have no such field; it is added%s".formatted(field, near));
            }
        }
    }
}
