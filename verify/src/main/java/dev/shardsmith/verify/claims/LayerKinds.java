package dev.shardsmith.verify.claims;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.IntFunction;

/** The ways in which configurations say what kind of layer is where. */
enum LayerKinds {
    /** A list with a word for each layer. */
    LISTED {
        @Override
        IntFunction<Optional<String>> of(Configuration config, String option) {
            List<?> words = list(config, option);
            return layer -> layer < words.size() ? Optional.of(String.valueOf(words.get(layer))) : Optional.empty();
        }

        @Override
        int entries(Configuration config, String option) {
            return list(config, option).size();
        }
    },
    /** A text with a symbol for each layer, without the marks of stages and what further tokens are predicted with. */
    SYMBOLS {
        @Override
        IntFunction<Optional<String>> of(Configuration config, String option) {
            String symbols = symbols(config, option);
            return layer ->
                    layer < symbols.length() ? Optional.of(symbols.substring(layer, layer + 1)) : Optional.empty();
        }

        @Override
        int entries(Configuration config, String option) {
            return symbols(config, option).length();
        }
    },
    /** A list of the numbers of layers that are {@code in} it; the others are {@code out}. */
    INDEXED {
        @Override
        IntFunction<Optional<String>> of(Configuration config, String option) {
            boolean said = config.value(option).orElse(null) instanceof List;
            Set<Object> in = new HashSet<>(list(config, option));
            return layer -> said ? Optional.of(in.contains((long) layer) ? "in" : "out") : Optional.empty();
        }
    },
    /** Every so many layers one is {@code in}: {@code NAME_period} and {@code NAME_offset}; the others are {@code out}. */
    PERIODIC {
        @Override
        IntFunction<Optional<String>> of(Configuration config, String option) {
            OptionalDouble period = config.number(option + "_period");
            OptionalDouble offset = config.number(option + "_offset");
            boolean said = period.isPresent() && offset.isPresent();
            return layer -> said
                    ? Optional.of(layer % period.getAsDouble() == offset.getAsDouble() ? "in" : "out")
                    : Optional.empty();
        }
    },
    /** As {@link #PERIODIC}, where a model of one expert has no layer that is {@code in}. */
    PERIODIC_EXPERTS {
        @Override
        IntFunction<Optional<String>> of(Configuration config, String option) {
            boolean several = config.number("num_experts").orElse(0) > 1;
            return several ? PERIODIC.of(config, option) : layer -> Optional.of("out");
        }
    },
    /** One word for all layers but those in {@code attn_layer_idx}, which are {@code in}. */
    WORD {
        @Override
        IntFunction<Optional<String>> of(Configuration config, String option) {
            Optional<String> word = config.value(option).map(String::valueOf);
            Set<Object> in = new HashSet<>(list(config, "attn_layer_idx"));
            return layer -> in.contains((long) layer) ? Optional.of("in") : word;
        }
    };

    /** The kind of each layer; empty where nothing is said. A word that a table has not says nothing either. */
    abstract IntFunction<Optional<String>> of(Configuration config, String option);

    /** For how many layers something is said one by one; 0 where it is said for all at once. */
    int entries(Configuration config, String option) {
        return 0;
    }

    private static List<?> list(Configuration config, String option) {
        return config.value(option).orElse(null) instanceof List<?> list ? list : List.of();
    }

    private static String symbols(Configuration config, String option) {
        String pattern = config.value(option).orElse(null) instanceof String text ? text : "";
        return pattern.split("/", -1)[0].replace("|", "");
    }
}
