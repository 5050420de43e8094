package dev.shardsmith.verify.claims;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;

/**
 * The names of a table's formulas: options of the configuration, and short names for them or for what follows from them.
 *
 * @param definitions for each short name the formulas that give it; the first one that has a value counts
 * @param config the options
 */
record Symbols(Map<String, List<Formula>> definitions, Configuration config) {

    /** The value of a name; empty if its option is not there and nothing stands in for it. */
    OptionalDouble value(String name) {
        List<Formula> formulas = definitions.get(name);
        if (formulas == null) {
            return config.number(name);
        }
        for (Formula formula : formulas) {
            OptionalDouble value = formula.value(this::value);
            if (value.isPresent()) {
                return value;
            }
        }
        return OptionalDouble.empty();
    }

    OptionalDouble value(Formula formula) {
        return formula.value(this::value);
    }

    /** The options that decide the value of a formula; of one that is not there, the name alone. */
    Set<String> options(Formula formula) {
        Set<String> options = new LinkedHashSet<>();
        collect(formula, options);
        return options;
    }

    private void collect(Formula formula, Set<String> options) {
        for (String name : formula.names()) {
            List<Formula> formulas = definitions.get(name);
            if (formulas == null) {
                options.add(name);
                continue;
            }
            for (Formula definition : formulas) {
                boolean decides = definition.value(this::value).isPresent();
                // A number alone stands in for an option that is not there: that option is what it is about.
                boolean named = !decides
                        && definition.isPlain()
                        && formulas.size() == 2
                        && formulas.get(1).names().isEmpty();
                if (decides || named) {
                    collect(definition, options);
                }
                if (decides) {
                    break;
                }
            }
        }
    }

    /** Every option that any of these formulas could depend on. */
    Set<String> allOptions(Iterable<Formula> formulas) {
        Set<String> options = new LinkedHashSet<>();
        List<Formula> open = new ArrayList<>();
        formulas.forEach(open::add);
        Set<String> seen = new LinkedHashSet<>();
        for (int i = 0; i < open.size(); i++) {
            for (String name : open.get(i).names()) {
                if (definitions.containsKey(name) && seen.add(name)) {
                    open.addAll(definitions.get(name));
                } else if (!definitions.containsKey(name)) {
                    options.add(name);
                }
            }
        }
        return options;
    }

    /** Options and their values, for a message: {@code mamba_n_heads 8 and mamba_d_head 4}. */
    String shown(Set<String> options) {
        List<String> words = new ArrayList<>();
        for (String option : options) {
            words.add(
                    config.value(option).isPresent()
                            ? option + " " + config.shown(option)
                            : option + ", which is not given,");
        }
        int last = words.size() - 1;
        return last <= 0
                ? String.join("", words)
                : String.join(", ", words.subList(0, last)) + " and " + words.get(last);
    }
}
