package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.UserRule;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * How every parameter of a Megatron model is divided: the table applied to the shapes of the undivided model.
 *
 * <p>Used in both directions: for a checkpoint that is read, with shapes summed over its ranks; for one that is written, with the
 * shapes of the logical tensors.
 */
public final class MegatronDivisions {
    /**
     * How one parameter is divided.
     *
     * @param division the division among the ranks of its group
     * @param world the group
     * @param rule the table's row, if the table knows the parameter and not the user
     */
    public record Entry(Division division, World world, Optional<ParameterRule> rule) {}

    private final Map<String, Entry> entries = new LinkedHashMap<>();
    private final List<String> unknown = new ArrayList<>();

    private MegatronDivisions() {}

    /**
     * The divisions of a model.
     *
     * @param shapes shapes of the undivided parameters by canonical name
     * @param gatedByDefault whether MLPs are gated where no shape tells
     * @param userRules what the user says about parameters that the table does not know
     */
    public static MegatronDivisions of(Map<String, Shape> shapes, boolean gatedByDefault, List<UserRule> userRules)
            throws CheckpointException {
        MegatronDivisions divisions = new MegatronDivisions();
        List<String> unknown = forEach(shapes.keySet(), shapes::get, gatedByDefault, userRules, divisions.entries::put);
        divisions.unknown.addAll(unknown);
        return divisions;
    }

    /**
     * Names that neither the table nor the user knows; all others are checked as by {@link #of}, but nothing is kept of them.
     *
     * @param names the canonical names
     * @param shapes the shape of each name
     * @param gatedByDefault as in {@link #of}
     * @param userRules as in {@link #of}
     */
    public static List<String> unknown(
            Collection<String> names, Function<String, Shape> shapes, boolean gatedByDefault, List<UserRule> userRules)
            throws CheckpointException {
        return forEach(names, shapes, gatedByDefault, userRules, (key, entry) -> {});
    }

    private static List<String> forEach(
            Collection<String> names,
            Function<String, Shape> shapes,
            boolean gatedByDefault,
            List<UserRule> userRules,
            BiConsumer<String, Entry> sink)
            throws CheckpointException {
        List<String> unknown = new ArrayList<>();
        for (List<String> keys : byPrefix(names).values()) {
            Map<String, Shape> scope = new LinkedHashMap<>();
            List<MegatronName> parsed = new ArrayList<>(keys.size());
            for (String key : keys) {
                MegatronName name = MegatronName.parse(key);
                parsed.add(name);
                scope.put(name.suffix(), shapes.apply(key));
            }
            LayerWidths widths = new LayerWidths(scope, gatedByDefault);
            for (int i = 0; i < keys.size(); i++) {
                String key = keys.get(i);
                MegatronName name = parsed.get(i);
                Optional<Entry> entry = entry(key, name, scope.get(name.suffix()), widths, userRules);
                if (entry.isPresent()) {
                    sink.accept(key, entry.get());
                } else {
                    unknown.add(key);
                }
            }
        }
        return unknown;
    }

    /**
     * The axis that a parameter is cut along, found before the undivided shapes are known.
     *
     * @param shapes shapes of one rank's shards by canonical name
     * @return axis and group by name; a name that the table does not know is absent
     */
    public static Map<String, Cut> cuts(Map<String, Shape> shapes, List<UserRule> userRules) {
        Map<String, Cut> cuts = new LinkedHashMap<>();
        for (List<String> keys : byPrefix(shapes.keySet()).values()) {
            LayerWidths widths = new LayerWidths(suffixes(keys, shapes), false);
            for (String key : keys) {
                Optional<ParameterRule> rule = MegatronTable.find(MegatronName.parse(key), widths.kind());
                if (rule.isPresent()) {
                    cuts.put(key, new Cut(rule.get().axis(), rule.get().world()));
                } else {
                    userRule(key, userRules)
                            .ifPresent(user -> cuts.put(key, new Cut(user.axis().orElse(-1), World.TENSOR)));
                }
            }
        }
        return cuts;
    }

    /**
     * Where a parameter is cut.
     *
     * @param axis the axis, or -1 if it is replicated
     * @param world the group of ranks
     */
    public record Cut(int axis, World world) {}

    /** The division of a parameter, if it is known. */
    public Optional<Entry> get(String name) {
        return Optional.ofNullable(entries.get(name));
    }

    /** All known parameters in order. */
    public Map<String, Entry> entries() {
        return entries;
    }

    /** Names that neither the table nor the user knows. */
    public List<String> unknown() {
        return unknown;
    }

    private static Optional<Entry> entry(
            String key, MegatronName name, Shape shape, LayerWidths widths, List<UserRule> userRules)
            throws CheckpointException {
        Optional<ParameterRule> rule = MegatronTable.find(name, widths.kind());
        if (rule.isPresent()) {
            Division division = division(rule.get(), key, name.suffix(), shape, widths);
            return Optional.of(new Entry(division, rule.get().world(), rule));
        }
        Optional<UserRule> user = userRule(key, userRules);
        return user.isPresent()
                ? Optional.of(new Entry(user.get().division(shape), World.TENSOR, Optional.empty()))
                : Optional.empty();
    }

    private static Division division(ParameterRule rule, String key, String suffix, Shape shape, LayerWidths widths)
            throws CheckpointException {
        if (rule.replicated()) {
            return new Division.Replicated();
        }
        if (shape.rank() <= rule.axis()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT,
                    key,
                    "its shape " + shape + " has no axis " + rule.axis() + ", along which it is divided");
        }
        return new Division.Split(rule.axis(), widths.components(rule, suffix, key));
    }

    private static Optional<UserRule> userRule(String key, List<UserRule> userRules) {
        return userRules.stream().filter(rule -> rule.names().matches(key)).findFirst();
    }

    private static Map<String, List<String>> byPrefix(Collection<String> names) {
        Map<String, List<String>> scopes = new LinkedHashMap<>();
        String last = null;
        List<String> keys = List.of();
        for (String name : names) {
            String prefix = MegatronName.parse(name).prefix();
            // Mostly the names of a layer follow each other.
            if (!prefix.equals(last)) {
                last = prefix;
                keys = scopes.computeIfAbsent(prefix, layer -> new ArrayList<>());
            }
            keys.add(name);
        }
        return scopes;
    }

    private static Map<String, Shape> suffixes(List<String> keys, Map<String, Shape> shapes) {
        Map<String, Shape> suffixes = new LinkedHashMap<>();
        for (String key : keys) {
            suffixes.put(MegatronName.parse(key).suffix(), shapes.get(key));
        }
        return suffixes;
    }
}
