package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MambaRules.Unit;
import dev.shardsmith.reshard.family.MambaTable.Part;
import dev.shardsmith.reshard.family.MambaTable.Row;
import dev.shardsmith.reshard.rule.Component;
import dev.shardsmith.reshard.rule.Division;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Divides an undivided model among ranks, and gathers what stands against it. */
final class MambaPlanning {
    private static final int MOST_RANKS = 64;

    private final Map<String, Shape> shapes;
    private final MambaRules rules;
    private final int world;
    private final MambaDivisions result = new MambaDivisions();

    /** What stands against the division, with the parameters concerned. */
    private final Map<String, List<String>> problems = new LinkedHashMap<>();

    private MambaPlanning(Map<String, Shape> shapes, MambaRules rules, int world) {
        this.shapes = shapes;
        this.rules = rules;
        this.world = world;
    }

    /** The division, or every problem at once and the sizes that have none. */
    static MambaDivisions plan(Map<String, Shape> shapes, MambaRules rules, int world) throws CheckpointException {
        MambaPlanning planning = new MambaPlanning(shapes, rules, world);
        planning.run();
        if (planning.problems.isEmpty()) {
            return planning.result;
        }
        List<Integer> legal = new ArrayList<>();
        for (int size = 1; size <= MOST_RANKS; size++) {
            MambaPlanning other = new MambaPlanning(shapes, rules, size);
            other.run();
            if (other.problems.isEmpty()) {
                legal.add(size);
            }
        }
        throw CheckpointException.of(
                        Kind.REFUSED,
                        "",
                        world + " tensor-parallel ranks cannot hold this model: "
                                + planning.problems.entrySet().stream()
                                        .map(problem -> problem.getKey() + where(problem.getValue()))
                                        .collect(Collectors.joining("; ")))
                .withHint(advice(legal, world)
                        + (planning.ofMlps() ? "; --multiple-of N divides MLPs in other blocks" : ""));
    }

    private boolean ofMlps() {
        return problems.keySet().stream().anyMatch(problem -> problem.contains("MLP channels"));
    }

    private static String where(List<String> keys) {
        return keys.size() == 1
                ? " (" + keys.get(0) + ")"
                : " (" + keys.get(0) + " and " + (keys.size() - 1) + " more)";
    }

    private static String advice(List<Integer> legal, int world) {
        List<String> nearest = new ArrayList<>();
        legal.stream().filter(size -> size < world).reduce((a, b) -> b).ifPresent(size -> nearest.add("--tp " + size));
        legal.stream().filter(size -> size > world).findFirst().ifPresent(size -> nearest.add("--tp " + size));
        String all = legal.stream().map(String::valueOf).collect(Collectors.joining(", "));
        return String.join(" or ", nearest) + "; sizes that divide it: " + all;
    }

    private void run() {
        for (MambaFrame.Layer layer : MambaFrame.of(List.of(shapes)).layers(shapes.keySet())) {
            MambaSizes sizes = new MambaSizes(layer.shapes(shapes), rules.config(), 0, 1);
            layer.keys().forEach((suffix, key) -> plan(key, suffix, sizes));
        }
    }

    private void plan(String key, String suffix, MambaSizes sizes) {
        Shape shape = shapes.get(key);
        Optional<Row> row = rules.row(key, suffix, sizes.kind());
        if (row.isEmpty() || row.get().axis() >= shape.rank()) {
            result.addUnknown(key, shape);
            return;
        }
        if (row.get().axis() < 0) {
            result.add(key, shape, MambaDivisions.undivided(row.get()));
            return;
        }
        List<Division.Listed.Part> parts = new ArrayList<>();
        for (Part part : MambaRules.parts(row.get(), sizes)) {
            long width = sizes.width(part, shape, row.get().axis());
            if (width > 0) {
                parts.add(part(key, part, width, sizes));
            }
        }
        result.add(key, shape, new Division.Listed(row.get().axis(), parts));
    }

    private Division.Listed.Part part(String key, Part part, long width, MambaSizes sizes) {
        boolean shared = world > 1 && rules.shared(part, sizes.kind());
        Unit unit = rules.unit(part, sizes, width, world);
        Component component = new Component(part.name(), width, unit.unit());
        if (!shared && unit.even() && !component.dividesEvenly(world)) {
            problem(component.units() + " " + unit.words() + " do not divide evenly by " + world, key);
        } else if (!shared && component.units() < world) {
            problem(component.units() + " " + unit.words() + " are fewer than " + world + " ranks", key);
        }
        List<Long> lengths = new ArrayList<>();
        for (int rank = 0; rank < world; rank++) {
            lengths.add(shared ? width : component.length(rank, world));
        }
        return new Division.Listed.Part(part.name(), lengths, shared);
    }

    private void problem(String text, String key) {
        List<String> keys = problems.computeIfAbsent(text, none -> new ArrayList<>());
        if (!keys.contains(key)) {
            keys.add(key);
        }
    }
}
