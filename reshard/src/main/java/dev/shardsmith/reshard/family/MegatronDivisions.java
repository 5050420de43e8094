package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.UserRule;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;

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
        List<String> keys = List.copyOf(shapes.keySet());
        List<Shape> sizes = List.copyOf(shapes.values());
        Found found = new Found(NameTable.of(keys), sizes::get, gatedByDefault);
        for (int[] layer : layers(found.names())) {
            List<Optional<Entry>> known = found.entries(layer);
            for (int i = 0; i < layer.length; i++) {
                String key = keys.get(layer[i]);
                Optional<Entry> entry = known.get(i).or(() -> user(key, shapes.get(key), userRules));
                if (entry.isPresent()) {
                    divisions.entries.put(key, entry.get());
                } else {
                    divisions.unknown.add(key);
                }
            }
        }
        return divisions;
    }

    /**
     * Names that neither the table nor the user knows; all others are checked as by {@link #of}, but nothing is kept of them.
     *
     * @param names the canonical names
     * @param shapes the shape of each name by its number
     * @param gatedByDefault as in {@link #of}
     * @param userRules as in {@link #of}
     */
    static List<String> unknown(
            NameTable names, IntFunction<Shape> shapes, boolean gatedByDefault, List<UserRule> userRules)
            throws CheckpointException {
        List<String> unknown = new ArrayList<>();
        Found found = new Found(names, shapes, gatedByDefault);
        for (int[] layer : layers(names)) {
            List<Optional<Entry>> known = found.entries(layer);
            for (int i = 0; i < layer.length; i++) {
                if (known.get(i).isEmpty()) {
                    String key = names.name(layer[i]);
                    if (user(key, shapes.apply(layer[i]), userRules).isEmpty()) {
                        unknown.add(key);
                    }
                }
            }
        }
        return unknown;
    }

    /** What the table says of the parameters of layers; most layers of a model are like another. */
    private static final class Found {
        /** More kinds of layers than models have; what is beyond is not kept. */
        private static final int MOST_KINDS = 64;

        private final NameTable names;
        private final IntFunction<Shape> shapes;
        private final boolean gatedByDefault;
        private final Map<LayerSizes, List<Optional<Entry>>> kinds = new HashMap<>();

        Found(NameTable names, IntFunction<Shape> shapes, boolean gatedByDefault) {
            this.names = names;
            this.shapes = shapes;
            this.gatedByDefault = gatedByDefault;
        }

        NameTable names() {
            return names;
        }

        /** The entry of each of a layer's parameters, if the table has one. */
        List<Optional<Entry>> entries(int[] layer) throws CheckpointException {
            LayerSizes kind = LayerSizes.of(layer, names, shapes);
            List<Optional<Entry>> known = kinds.get(kind);
            if (known == null) {
                known = find(layer, kind);
                if (kinds.size() < MOST_KINDS) {
                    kinds.put(kind, known);
                }
            }
            return known;
        }

        private List<Optional<Entry>> find(int[] layer, LayerSizes sizes) throws CheckpointException {
            LayerWidths widths = new LayerWidths(sizes.bySuffix(names), gatedByDefault);
            List<Optional<Entry>> entries = new ArrayList<>(layer.length);
            for (int i = 0; i < layer.length; i++) {
                MegatronName name = names.suffixes().get(names.suffix(layer[i]));
                Optional<ParameterRule> rule = MegatronTable.find(name, widths.kind());
                if (rule.isPresent()) {
                    Division division =
                            division(rule.get(), names.name(layer[i]), name.suffix(), sizes.shapes()[i], widths);
                    entries.add(Optional.of(new Entry(division, rule.get().world(), rule)));
                } else {
                    entries.add(Optional.empty());
                }
            }
            return entries;
        }
    }

    /**
     * The axis that a parameter is cut along, found before the undivided shapes are known.
     *
     * @param shapes shapes of one rank's shards by canonical name
     * @return axis and group by name; a name that the table does not know is absent
     */
    public static Map<String, Cut> cuts(Map<String, Shape> shapes, List<UserRule> userRules) {
        Map<String, Cut> cuts = new LinkedHashMap<>();
        List<String> keys = List.copyOf(shapes.keySet());
        List<Shape> sizes = List.copyOf(shapes.values());
        NameTable names = NameTable.of(keys);
        for (int[] layer : layers(names)) {
            LayerSizes known = LayerSizes.of(layer, names, sizes::get);
            LayerWidths widths = new LayerWidths(known.bySuffix(names), false);
            for (int number : layer) {
                String key = keys.get(number);
                Optional<ParameterRule> rule =
                        MegatronTable.find(names.suffixes().get(names.suffix(number)), widths.kind());
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

    /** What the user says of a parameter that the table does not know. */
    private static Optional<Entry> user(String key, Shape shape, List<UserRule> userRules) {
        return userRule(key, userRules).map(user -> new Entry(user.division(shape), World.TENSOR, Optional.empty()));
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

    /** The numbers of names by their prefixes, in the order in which these come first. */
    private static List<int[]> layers(NameTable names) {
        int[] counts = new int[names.prefixes().size()];
        for (int i = 0; i < names.size(); i++) {
            counts[names.prefix(i)]++;
        }
        List<int[]> layers = new ArrayList<>();
        int[][] ofPrefix = new int[counts.length][];
        for (int i = 0; i < names.size(); i++) {
            int prefix = names.prefix(i);
            int[] layer = ofPrefix[prefix];
            if (layer == null) {
                layer = new int[counts[prefix]];
                ofPrefix[prefix] = layer;
                layers.add(layer);
            }
            layer[layer.length - counts[prefix]--] = i;
        }
        return layers;
    }
}
