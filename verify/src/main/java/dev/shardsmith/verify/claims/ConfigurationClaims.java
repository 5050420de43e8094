package dev.shardsmith.verify.claims;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.verify.claims.ModelTable.Flag;
import dev.shardsmith.verify.claims.ModelTable.Kinds;
import dev.shardsmith.verify.claims.ModelTable.Rule;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntFunction;

/** Holds all that a configuration says of a model against the names and shapes of the tensors that are stored. */
public final class ConfigurationClaims {
    private final ModelTable table;
    private final Configuration config;
    private final Symbols symbols;
    private final Map<String, Shape> weights;
    private final Map<String, StoredName> names = new LinkedHashMap<>();
    private final Set<String> templates = new LinkedHashSet<>();
    /** What comes after the layer's number in its names, by layer. */
    private final TreeMap<Integer, Set<String>> layers = new TreeMap<>();

    private final List<Contradiction> found = new ArrayList<>();

    private ConfigurationClaims(ModelTable table, Configuration config, Map<String, Shape> weights) {
        this.table = table;
        this.config = config;
        this.symbols = new Symbols(table.symbols(), config);
        this.weights = weights;
    }

    /**
     * Everything that the weights deny, or that no model can be; empty if nothing is, or if the architecture is not known.
     *
     * @param config the parsed {@code config.json}
     * @param weights shapes by the names in the files; for files of ranks, those of the undivided model
     */
    public static List<Contradiction> check(Map<String, Object> config, Map<String, Shape> weights) {
        Configuration options = new Configuration(config);
        Optional<ModelTable> table = ModelTables.of(options);
        if (table.isEmpty() || weights.isEmpty()) {
            return List.of();
        }
        ConfigurationClaims claims = new ConfigurationClaims(table.get(), options, weights);
        claims.check();
        return List.copyOf(claims.found);
    }

    private void check() {
        weights.keySet().forEach(name -> names.put(name, StoredName.of(name)));
        gather();
        if (table.split().isPresent()) {
            names.replaceAll((name, stored) -> split(stored, table.split().get()));
            gather();
        }
        names.values().forEach(stored -> templates.add(stored.template()));
        Set<String> wrong = options();
        sizes(wrong);
        table.flags().forEach(this::flag);
        table.rules().forEach(rule -> rule(rule, wrong));
        count();
        table.kinds().forEach(this::kinds);
    }

    private void gather() {
        layers.clear();
        for (StoredName stored : names.values()) {
            stored.layer()
                    .ifPresent(layer -> layers.computeIfAbsent(layer, none -> new LinkedHashSet<>())
                            .add(stored.suffix()));
        }
    }

    /** The name that tells what kind its part of the layer is. */
    private StoredName split(StoredName stored, ModelTable.Split split) {
        if (stored.layer().isPresent() && stored.suffix().startsWith(split.prefix())) {
            Set<String> suffixes = layers.get(stored.layer().getAsInt());
            for (Map.Entry<String, String> kind : split.starts().entrySet()) {
                if (suffixes.stream().anyMatch(suffix -> suffix.startsWith(kind.getValue()))) {
                    return stored.renamed(split.prefix(), kind.getKey() + '.');
                }
            }
        }
        return stored;
    }

    private void say(Contradiction.Kind kind, Iterable<String> fields, String message) {
        List<String> all = new ArrayList<>();
        fields.forEach(all::add);
        found.add(new Contradiction(kind, List.copyOf(all), message));
    }

    /** The options that are no numbers and should be. */
    private Set<String> options() {
        Set<String> wrong = new LinkedHashSet<>();
        Set<String> asked = new LinkedHashSet<>(symbols.allOptions(table.formulas()));
        table.flags().forEach(flag -> asked.add(flag.option()));
        for (String option : asked) {
            if (config.isNoNumber(option)) {
                wrong.add(option);
                say(
                        Contradiction.Kind.OPTION,
                        List.of(option),
                        "%s is %s, where a number is expected".formatted(option, config.shown(option)));
            }
        }
        return wrong;
    }

    /** A size that a tensor should have and has not. */
    private record Misfit(Set<String> options, String message) {}

    private void sizes(Set<String> wrong) {
        List<Misfit> misfits = new ArrayList<>();
        names.forEach((name, stored) -> {
            List<Optional<Formula>> axes = table.sizes().get(stored.template());
            Shape shape = weights.get(name);
            if (axes != null && axes.size() != shape.rank()) {
                say(
                        Contradiction.Kind.SHAPE,
                        List.of(),
                        "%s has the shape %s, where a model of this kind has %d dimensions"
                                .formatted(name, shape, axes.size()));
            } else if (axes != null) {
                for (int axis = 0; axis < axes.size(); axis++) {
                    if (axes.get(axis).isPresent()) {
                        size(name, shape, axis, axes.get(axis).get()).ifPresent(misfits::add);
                    }
                }
            }
        });
        // What one option explains is not told of the others that go into the same size.
        misfits.sort(Comparator.comparingInt(misfit -> misfit.options().size()));
        List<Set<String>> explained = new ArrayList<>();
        wrong.forEach(option -> explained.add(Set.of(option)));
        for (Misfit misfit : misfits) {
            if (explained.stream().noneMatch(misfit.options()::containsAll)) {
                explained.add(misfit.options());
                say(Contradiction.Kind.SHAPE, misfit.options(), misfit.message());
            }
        }
    }

    private Optional<Misfit> size(String name, Shape shape, int axis, Formula formula) {
        OptionalDouble expected = symbols.value(formula);
        if (expected.isEmpty() || expected.getAsDouble() == shape.size(axis)) {
            return Optional.empty();
        }
        Set<String> options = symbols.options(formula);
        String says = symbols.shown(options);
        double value = expected.getAsDouble();
        boolean itself =
                options.size() == 1 && config.number(options.iterator().next()).equals(expected);
        String message = itself
                ? "%s, but the weights say %d: %s is %s".formatted(says, shape.size(axis), name, shape)
                : "%s %s %s %s, which is %s"
                        .formatted(
                                says,
                                options.size() == 1 ? "makes" : "make",
                                shown(value),
                                place(name, axis, shape),
                                shape);
        return Optional.of(new Misfit(options, message));
    }

    private static String place(String name, int axis, Shape shape) {
        String what = shape.rank() > 2 ? "size " + axis : shape.rank() == 2 && axis == 1 ? "columns" : "rows";
        return (shape.rank() == 1 ? "elements" : what) + " of " + name;
    }

    private static String shown(double value) {
        return Double.isNaN(value)
                ? "no number"
                : value == Math.rint(value) && Math.abs(value) < 1e15
                        ? Long.toString((long) value)
                        : Double.toString(value);
    }

    private void flag(Flag flag) {
        OptionalDouble said = config.number(flag.option());
        if (said.isEmpty()) {
            return;
        }
        boolean expected = said.getAsDouble() != 0 == flag.wanted();
        String any = null;
        for (Map.Entry<String, StoredName> name : names.entrySet()) {
            if (name.getValue().template().equals(flag.other())) {
                any = name.getKey();
                break;
            }
        }
        String says = flag.option() + " is " + config.shown(flag.option());
        if (!expected && any != null) {
            say(Contradiction.Kind.PRESENCE, List.of(flag.option()), says + ", but the weights have " + any);
        } else if (expected && any == null && templates.contains(flag.base())) {
            say(
                    Contradiction.Kind.PRESENCE,
                    List.of(flag.option()),
                    says + ", but the weights have no " + flag.other());
        }
    }

    private void rule(Rule rule, Set<String> wrong) {
        Set<String> options = new LinkedHashSet<>(symbols.options(rule.left()));
        options.addAll(symbols.options(rule.right()));
        OptionalDouble left = symbols.value(rule.left());
        OptionalDouble right = symbols.value(rule.right());
        boolean matters = rule.where().equals("*") || templates.contains(rule.where());
        if (!matters
                || left.isEmpty()
                || right.isEmpty()
                || rule.holds(left.getAsDouble(), right.getAsDouble())
                || options.stream().anyMatch(wrong::contains)) {
            return;
        }
        String bound = switch (rule.operator()) {
            case "%" -> "%s does not divide %s".formatted(shown(right.getAsDouble()), shown(left.getAsDouble()));
            case "=" -> "%s and %s should be equal".formatted(shown(left.getAsDouble()), shown(right.getAsDouble()));
            case "<" -> "%s is not less than %s".formatted(shown(left.getAsDouble()), shown(right.getAsDouble()));
            default -> "%s is not at most %s".formatted(shown(left.getAsDouble()), shown(right.getAsDouble()));
        };
        say(Contradiction.Kind.OPTION, options, "%s cannot be: %s".formatted(symbols.shown(options), bound));
    }

    private void count() {
        if (table.layers().isEmpty() || layers.isEmpty()) {
            return;
        }
        OptionalDouble said = symbols.value(table.layers().get());
        int stored = layers.lastKey() + 1;
        if (said.isPresent() && said.getAsDouble() != stored) {
            Set<String> options = symbols.options(table.layers().get());
            say(
                    Contradiction.Kind.LAYER_COUNT,
                    options,
                    "%s, but the weights have %d layers".formatted(symbols.shown(options), stored));
        }
    }

    private void kinds(Kinds kinds) {
        IntFunction<Optional<String>> said = kinds.source().of(config, kinds.option());
        for (Map.Entry<Integer, Set<String>> layer : layers.entrySet()) {
            Optional<String> kind = said.apply(layer.getKey()).filter(kinds.starts()::containsKey);
            Optional<String> other = kind.flatMap(word -> ofAnotherKind(kinds, word, layer.getValue()));
            if (other.isPresent()) {
                say(
                        Contradiction.Kind.LAYER_KIND,
                        List.of(kinds.option()),
                        "%s makes layer %d one with %s*, but its weights have %s"
                                .formatted(
                                        kinds.option(),
                                        layer.getKey(),
                                        kinds.starts().get(kind.get()),
                                        other.get()));
                return;
            }
        }
        int entries = kinds.source().entries(config, kinds.option());
        if (entries > 0 && !layers.isEmpty() && entries != layers.lastKey() + 1) {
            say(
                    Contradiction.Kind.LAYER_COUNT,
                    List.of(kinds.option()),
                    "%s has %d entries, but the weights have %d layers"
                            .formatted(kinds.option(), entries, layers.lastKey() + 1));
        }
    }

    private static Optional<String> ofAnotherKind(Kinds kinds, String word, Set<String> suffixes) {
        String own = kinds.starts().get(word);
        return suffixes.stream()
                .filter(suffix -> kinds.starts().values().stream()
                        .anyMatch(start -> suffix.startsWith(start) && !start.equals(own)))
                .findFirst();
    }
}
