package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MambaTable.Part;
import dev.shardsmith.reshard.family.MambaTable.Row;
import dev.shardsmith.reshard.rule.Component;
import dev.shardsmith.reshard.rule.Division;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How the parameters of a mamba_ssm model are divided among tensor-parallel ranks.
 *
 * <p>Units are never cut: heads with their group, groups, the MLP's multiple. The first ranks hold one unit more where they do not
 * divide; where mamba_ssm's own modules would refuse that, so does this.
 */
public final class MambaDivisions {
    private static final long MLP_MULTIPLE = 128;

    private final Map<String, Division> divisions = new LinkedHashMap<>();
    private final Map<String, Shape> shapes = new LinkedHashMap<>();
    private final List<String> unknown = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private final MambaConfig config;
    private final int world;

    private MambaDivisions(MambaConfig config, int world) {
        this.config = config;
        this.world = world;
    }

    /**
     * The division that a checkpoint has, measured on its shards and checked against the rule.
     *
     * @param ranks shapes by key of each rank
     * @throws CheckpointException if a rank's sizes are not those that the rule gives
     */
    public static MambaDivisions measured(List<Map<String, Shape>> ranks, MambaConfig config)
            throws CheckpointException {
        MambaDivisions result = new MambaDivisions(config, ranks.size());
        List<Map<String, Map<String, Shape>>> layers =
                ranks.stream().map(MambaDivisions::byPrefix).toList();
        for (Map.Entry<String, Map<String, Shape>> layer : layers.get(0).entrySet()) {
            List<MambaSizes> sizes = new ArrayList<>();
            for (Map<String, Map<String, Shape>> rank : layers) {
                sizes.add(new MambaSizes(rank.getOrDefault(layer.getKey(), Map.of()), config));
            }
            for (String suffix : layer.getValue().keySet()) {
                result.measure(layer.getKey(), suffix, ranks, sizes);
            }
        }
        return result;
    }

    /**
     * The division of an undivided model among ranks.
     *
     * @param multiple the MLP's multiple that the source has, if it has another than {@value #MLP_MULTIPLE}
     * @throws CheckpointException of kind REFUSED with every violation and the nearest legal sizes
     */
    public static MambaDivisions planned(
            Map<String, Shape> shapes, MambaConfig config, int world, Optional<Long> multiple)
            throws CheckpointException {
        List<String> problems = new ArrayList<>();
        MambaDivisions result = plan(shapes, config, world, multiple, problems);
        if (!problems.isEmpty()) {
            List<String> legal = new ArrayList<>();
            for (int size = 1; size <= 64; size++) {
                List<String> none = new ArrayList<>();
                plan(shapes, config, size, multiple, none);
                if (none.isEmpty()) {
                    legal.add(Integer.toString(size));
                }
            }
            throw CheckpointException.of(
                            Kind.REFUSED,
                            "",
                            world + " tensor-parallel ranks cannot hold this model: "
                                    + String.join(
                                            "; ",
                                            problems.stream()
                                                    .distinct()
                                                    .limit(8)
                                                    .toList()))
                    .withHint("sizes that divide it: " + String.join(", ", legal));
        }
        return result;
    }

    private static MambaDivisions plan(
            Map<String, Shape> shapes, MambaConfig config, int world, Optional<Long> multiple, List<String> problems) {
        MambaDivisions result = new MambaDivisions(config, world);
        byPrefix(shapes).forEach((prefix, layer) -> {
            MambaSizes sizes = new MambaSizes(layer, config);
            layer.forEach((suffix, shape) -> result.planOne(prefix + suffix, suffix, shape, sizes, multiple, problems));
        });
        return result;
    }

    private void planOne(
            String key, String suffix, Shape shape, MambaSizes sizes, Optional<Long> multiple, List<String> problems) {
        Optional<Row> row = MambaTable.find(suffix, sizes.kind());
        shapes.put(key, shape);
        if (row.isEmpty()) {
            unknown.add(key);
            return;
        }
        if (row.get().axis() < 0) {
            divisions.put(key, row.get().rankZero() ? new Division.RankZeroOnly() : new Division.Replicated());
            return;
        }
        List<Division.Listed.Part> parts = new ArrayList<>();
        for (Part part : repeated(row.get(), sizes)) {
            long width = width(part, sizes, shape, row.get().axis());
            boolean shared = world > 1 && (part.shared() || sharedGroups(part, sizes));
            long unit = shared ? 1 : unit(part, sizes, width, multiple);
            if (width == 0) {
                continue;
            }
            Component component = new Component(part.name(), width, unit);
            if (!shared) {
                check(key, part, component, sizes, problems);
            }
            List<Long> lengths = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                lengths.add(shared ? width : component.length(rank, world));
            }
            parts.add(new Division.Listed.Part(part.name(), lengths, shared));
        }
        divisions.put(key, new Division.Listed(row.get().axis(), parts));
    }

    private void check(String key, Part part, Component component, MambaSizes sizes, List<String> problems) {
        boolean evenOnly = switch (part.width()) {
            case "V" -> true;
            case "d", "di", "dm", "ds", "GN", "H", "D" -> sizes.kind() != MambaSizes.Kind.MAMBA3;
            default -> false;
        };
        String what = component.units() + " " + words(part, component);
        if (evenOnly && !component.dividesEvenly(world)) {
            problems.add(what + " (" + key + ") must divide evenly by " + world);
        } else if (component.units() < world) {
            problems.add(what + " (" + key + ") are fewer than " + world + " ranks");
        }
    }

    private static String words(Part part, Component component) {
        return switch (part.width()) {
            case "V" -> "vocabulary rows";
            case "d" -> "embedding columns";
            case "ds", "GN", "H", "D" -> "groups of heads";
            case "dm", "di" -> "inner channels";
            case "q", "kv" -> "key and value heads";
            case "h" -> "blocks of " + component.unit() + " MLP channels";
            default -> "units of " + part.name();
        };
    }

    private void measure(String prefix, String suffix, List<Map<String, Shape>> ranks, List<MambaSizes> sizes)
            throws CheckpointException {
        String key = prefix + suffix;
        Shape first = ranks.get(0).get(key);
        Optional<Row> row = MambaTable.find(suffix, sizes.get(0).kind());
        if (row.isEmpty() || row.get().axis() < 0 || first.rank() <= row.get().axis()) {
            shapes.put(key, first);
            if (row.isEmpty()) {
                unknown.add(key);
            } else {
                divisions.put(key, row.get().rankZero() ? new Division.RankZeroOnly() : new Division.Replicated());
            }
            return;
        }
        int axis = row.get().axis();
        List<Division.Listed.Part> parts = new ArrayList<>();
        for (Part part : repeated(row.get(), sizes.get(0))) {
            List<Long> lengths = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                Shape shape = ranks.get(rank).get(key);
                if (shape == null) {
                    throw CheckpointException.of(
                            Kind.INCOMPLETE, key, "rank " + rank + " of " + world + " does not have this parameter");
                }
                lengths.add(width(part, sizes.get(rank), shape, axis));
            }
            boolean shared = world > 1 && (part.shared() || sharedGroups(part, sizes.get(0)));
            if (lengths.stream().anyMatch(length -> length > 0)) {
                if (!shared) {
                    checkMeasured(key, part, lengths);
                }
                parts.add(new Division.Listed.Part(part.name(), lengths, shared));
            }
        }
        Division.Listed division = new Division.Listed(axis, parts);
        Shape whole = first.with(axis, division.width());
        for (int rank = 0; rank < world; rank++) {
            Shape expected = division.localShape(whole, rank, world);
            Shape found = ranks.get(rank).get(key);
            if (!found.equals(expected)) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        key,
                        "rank " + rank + " of " + world + " has shape " + found + ", but its parts ("
                                + division.describe() + ") make " + expected);
            }
        }
        shapes.put(key, whole);
        divisions.put(key, division);
    }

    /** The lengths must be those of an uneven split in some unit; which rank is off is said otherwise. */
    private void checkMeasured(String key, Part part, List<Long> lengths) throws CheckpointException {
        long width = lengths.stream().mapToLong(Long::longValue).sum();
        long common = 0;
        for (long length : lengths) {
            common = BigInteger.valueOf(common).gcd(BigInteger.valueOf(length)).longValueExact();
        }
        if (common > 0 && fits(lengths, new Component(part.name(), width, common))) {
            boolean uneven = lengths.stream().distinct().count() > 1;
            if (uneven && part.width().equals("h") && !fits(lengths, unitOr(part, width, MLP_MULTIPLE, common))) {
                addWarning("MLP channels are divided in multiples of " + common + ", not of " + MLP_MULTIPLE);
            }
            return;
        }
        Component even = new Component(part.name(), width, 1);
        for (int rank = 0; rank < world; rank++) {
            long expected = even.length(rank, world);
            if (expected != lengths.get(rank)) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        key,
                        "rank " + rank + " of " + world + " holds " + lengths.get(rank) + " of "
                                + (part.name().isEmpty() ? "the axis" : part.name()) + ", the rule gives it " + expected
                                + " of " + width + ": off by " + Math.abs(expected - lengths.get(rank)));
            }
        }
    }

    private static Component unitOr(Part part, long width, long unit, long otherwise) {
        return new Component(part.name(), width, width % unit == 0 ? unit : otherwise);
    }

    private boolean fits(List<Long> lengths, Component component) {
        for (int rank = 0; rank < lengths.size(); rank++) {
            if (component.length(rank, world) != lengths.get(rank)) {
                return false;
            }
        }
        return true;
    }

    private void addWarning(String text) {
        if (!warnings.contains(text)) {
            warnings.add(text);
        }
    }

    /** With one group every head reads the same B and C, so every rank needs them whole. */
    private boolean sharedGroups(Part part, MambaSizes sizes) {
        return part.width().equals("GN") && sizes.kind() == MambaSizes.Kind.MAMBA3 && config.groups() == 1;
    }

    private static List<Part> repeated(Row row, MambaSizes sizes) {
        List<Part> parts = new ArrayList<>();
        for (Part part : row.parts()) {
            if (part.name().endsWith("#")) {
                for (long rank = 0; rank < sizes.width("R"); rank++) {
                    parts.add(new Part(part.name().replace("#", "") + rank, part.width(), part.shared()));
                }
            } else {
                parts.add(part);
            }
        }
        return parts;
    }

    private static long width(Part part, MambaSizes sizes, Shape shape, int axis) {
        return switch (part.width()) {
            case "V", "d" -> shape.size(axis);
            default -> sizes.width(part.width());
        };
    }

    private long unit(Part part, MambaSizes sizes, long width, Optional<Long> multiple) {
        long groups = Math.max(1, config.groups());
        long unit = switch (part.width()) {
            case "ds", "GN", "H", "D" -> sizes.kind() == MambaSizes.Kind.MAMBA3 && groups == 1 ? 1 : width / groups;
            case "di" ->
                sizes.kind() == MambaSizes.Kind.MAMBA3
                        ? width / Math.max(1, groups == 1 ? sizes.width("H") : groups)
                        : 1;
            case "kv" -> config.attentionHeadDim();
            case "q" -> config.attentionHeadDim() * config.queriesPerKey();
            case "h" -> multiple.orElse(MLP_MULTIPLE);
            default -> 1L;
        };
        if (unit > 0 && width % unit == 0) {
            return unit;
        }
        long smaller = Math.max(1, unit);
        while (width % smaller != 0) {
            smaller /= 2;
        }
        return smaller;
    }

    private static Map<String, Map<String, Shape>> byPrefix(Map<String, Shape> shapes) {
        Map<String, Map<String, Shape>> layers = new LinkedHashMap<>();
        shapes.forEach((key, shape) -> {
            String[] parts = MambaTable.split(key);
            layers.computeIfAbsent(parts[0], prefix -> new LinkedHashMap<>()).put(parts[1], shape);
        });
        return layers;
    }

    /** How each parameter is divided. */
    public Map<String, Division> divisions() {
        return divisions;
    }

    /** Shapes of the undivided parameters. */
    public Map<String, Shape> shapes() {
        return shapes;
    }

    /** Keys that the table does not know. */
    public List<String> unknown() {
        return unknown;
    }

    /** What is unusual about a measured division. */
    public List<String> warnings() {
        return warnings;
    }
}
