package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.UserRule;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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
        for (Map.Entry<String, Map<String, Shape>> scope : byPrefix(shapes).entrySet()) {
            LayerWidths widths = new LayerWidths(scope.getValue(), gatedByDefault);
            for (Map.Entry<String, Shape> parameter : scope.getValue().entrySet()) {
                String key = scope.getKey() + parameter.getKey();
                divisions.add(key, parameter.getKey(), parameter.getValue(), widths, userRules);
            }
        }
        return divisions;
    }

    /**
     * The axis that a parameter is cut along, found before the undivided shapes are known.
     *
     * @param shapes shapes of one rank's shards by canonical name
     * @return axis and group by name; a name that the table does not know is absent
     */
    public static Map<String, Cut> cuts(Map<String, Shape> shapes, List<UserRule> userRules) {
        Map<String, Cut> cuts = new LinkedHashMap<>();
        for (Map.Entry<String, Map<String, Shape>> scope : byPrefix(shapes).entrySet()) {
            LayerWidths widths = new LayerWidths(scope.getValue(), false);
            for (String suffix : scope.getValue().keySet()) {
                String key = scope.getKey() + suffix;
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

    private void add(String key, String suffix, Shape shape, LayerWidths widths, List<UserRule> userRules)
            throws CheckpointException {
        Optional<ParameterRule> rule = MegatronTable.find(MegatronName.parse(key), widths.kind());
        if (rule.isPresent()) {
            entries.put(
                    key,
                    new Entry(
                            division(rule.get(), key, suffix, shape, widths),
                            rule.get().world(),
                            rule));
            return;
        }
        Optional<UserRule> user = userRule(key, userRules);
        if (user.isPresent()) {
            entries.put(key, new Entry(user.get().division(shape), World.TENSOR, Optional.empty()));
        } else {
            unknown.add(key);
        }
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

    private static Map<String, Map<String, Shape>> byPrefix(Map<String, Shape> shapes) {
        Map<String, Map<String, Shape>> scopes = new LinkedHashMap<>();
        shapes.forEach((key, shape) -> {
            MegatronName name = MegatronName.parse(key);
            scopes.computeIfAbsent(name.prefix(), prefix -> new LinkedHashMap<>())
                    .put(name.suffix(), shape);
        });
        return scopes;
    }
}
