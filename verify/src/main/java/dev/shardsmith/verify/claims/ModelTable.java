package dev.shardsmith.verify.claims;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What the options of one architecture mean for its tensors, read from lines of text.
 *
 * <pre>
 * let NAME = FORMULA | FORMULA …    a short name; the first formula whose options are there counts
 * size TENSOR FORMULA …             sizes of a tensor, outermost first; * for one that no option decides
 * flag OPTION TENSOR OTHER          wherever TENSOR is, OTHER is there if and only if the option is true (or not 0); !OPTION: if it is false
 * rule TENSOR LEFT OP RIGHT         where TENSOR is: an inequality (&lt;= or &lt;), an equation (=), or that RIGHT divides LEFT (%)
 * rule * LEFT OP RIGHT              always
 * layers FORMULA                    number of layers
 * split PREFIX NAME=START …         names with this prefix in a layer have NAME. instead, the first one with whose START the layer has a tensor
 * kinds SOURCE OPTION WORD=START …  kinds of layers (see {@link LayerKinds}), and how names begin that only this kind has
 * </pre>
 *
 * @param symbols short names
 * @param sizes formulas of each axis by tensor
 * @param flags switches
 * @param rules bounds
 * @param layers number of layers
 * @param split how names in layers are told apart
 * @param kinds where the kinds of layers are said
 */
record ModelTable(
        Map<String, List<Formula>> symbols,
        Map<String, List<Optional<Formula>>> sizes,
        List<Flag> flags,
        List<Rule> rules,
        Optional<Formula> layers,
        Optional<Split> split,
        List<Kinds> kinds) {

    /**
     * A switch.
     *
     * @param option its name
     * @param wanted the value with which the other tensor is there
     * @param base the tensor beside which it is or is not
     * @param other the other tensor
     */
    record Flag(String option, boolean wanted, String base, String other) {}

    /**
     * What one part of layers is called where it may be of several kinds.
     *
     * @param prefix how its names begin
     * @param starts for each new beginning how the name of a tensor begins that tells the kind
     */
    record Split(String prefix, Map<String, String> starts) {}

    /**
     * A bound.
     *
     * @param where the tensor without which it does not matter; {@code *} if it always does
     */
    record Rule(String where, Formula left, String operator, Formula right) {
        /** Whether it holds for two numbers; nothing holds for what is no number. */
        boolean holds(double a, double b) {
            return switch (operator) {
                case "<=" -> a <= b;
                case "<" -> a < b;
                case "=" -> a == b;
                case "%" -> b != 0 && a % b == 0;
                default -> throw new IllegalArgumentException("no operator " + operator);
            };
        }
    }

    /**
     * Where the kinds of layers are said.
     *
     * @param source how
     * @param option the option, or how its names begin
     * @param starts for each kind how the names begin of tensors that no other kind has
     */
    record Kinds(LayerKinds source, String option, Map<String, String> starts) {}

    /** Reads a table. */
    static ModelTable of(List<String> lines) {
        Map<String, List<Formula>> symbols = new LinkedHashMap<>();
        Map<String, List<Optional<Formula>>> sizes = new LinkedHashMap<>();
        List<Flag> flags = new ArrayList<>();
        List<Rule> rules = new ArrayList<>();
        Optional<Formula> layers = Optional.empty();
        Optional<Split> split = Optional.empty();
        List<Kinds> kinds = new ArrayList<>();
        for (String line : lines) {
            String[] words = line.strip().split(" +");
            switch (words[0]) {
                case "let" -> symbols.put(words[1], formulas(line.substring(line.indexOf('=') + 1)));
                case "size" -> sizes.put(words[1], axes(List.of(words).subList(2, words.length)));
                case "flag" -> flags.add(flag(words));
                case "rule" -> rules.add(new Rule(words[1], Formula.of(words[2]), words[3], Formula.of(words[4])));
                case "layers" -> layers = Optional.of(Formula.of(words[1]));
                case "split" -> split = Optional.of(new Split(words[1], pairs(words, 2)));
                case "kinds" -> kinds.add(kinds(words));
                default -> throw new IllegalArgumentException("no line of a table: " + line);
            }
        }
        return new ModelTable(symbols, sizes, flags, rules, layers, split, kinds);
    }

    private static List<Formula> formulas(String alternatives) {
        return Stream.of(alternatives.split("\\|"))
                .map(text -> Formula.of(text.strip()))
                .toList();
    }

    private static List<Optional<Formula>> axes(List<String> words) {
        List<Optional<Formula>> axes = new ArrayList<>();
        words.forEach(word -> axes.add(word.equals("*") ? Optional.empty() : Optional.of(Formula.of(word))));
        return axes;
    }

    private static Flag flag(String[] words) {
        boolean wanted = !words[1].startsWith("!");
        return new Flag(wanted ? words[1] : words[1].substring(1), wanted, words[2], words[3]);
    }

    private static Kinds kinds(String[] words) {
        return new Kinds(LayerKinds.valueOf(words[1]), words[2], pairs(words, 3));
    }

    /** Words such as {@code a,b=c}, each of the names before the last sign with what stands behind it. */
    private static Map<String, String> pairs(String[] words, int from) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (String pair : List.of(words).subList(from, words.length)) {
            int sign = pair.lastIndexOf('=');
            for (String word : pair.substring(0, sign).split(",")) {
                pairs.put(word, pair.substring(sign + 1));
            }
        }
        return pairs;
    }

    /** Every formula of sizes, rules and layers. */
    List<Formula> formulas() {
        List<Formula> all = new ArrayList<>();
        sizes.values().forEach(axes -> axes.forEach(axis -> axis.ifPresent(all::add)));
        for (Rule rule : rules) {
            all.add(rule.left());
            all.add(rule.right());
        }
        layers.ifPresent(all::add);
        return all;
    }
}
