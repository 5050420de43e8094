package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.Part;
import java.util.ArrayList;
import java.util.List;

/**
 * Puts a logical tensor together that a torch_dist checkpoint keeps part by part.
 *
 * @param shape sizes of the undivided tensor
 * @param sources its places; together they are the whole
 */
record DistParts(Shape shape, List<DistSource> sources) {
    /**
     * A part.
     *
     * @param source where it lies
     * @param shape its sizes, without leading axes
     * @param target which part it is
     */
    record Found(DistSource source, Shape shape, DistTarget target) {
        String part() {
            return target.part();
        }

        ParameterRule rule() {
            return target.rule();
        }
    }

    /**
     * The tensor of these parts.
     *
     * @throws CheckpointException if one is missing, doubled, or does not fit the others
     */
    static DistParts of(String name, List<Found> parts) throws CheckpointException {
        List<Found> ordered = ordered(name, parts);
        List<DistSource> sources = new ArrayList<>();
        Shape first = ordered.get(0).shape();
        long base = 0;
        for (Found part : ordered) {
            Shape shape = part.shape();
            if (shape.rank() == 0
                    || shape.rank() != first.rank()
                    || !shape.with(0, first.size(0)).equals(first)) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        "its part " + part.part() + " of shape " + shape + " does not fit " + first);
            }
            sources.add(part.source().at(base));
            base = Math.addExact(base, shape.size(0));
        }
        return new DistParts(first.with(0, base), sources);
    }

    private static List<Found> ordered(String name, List<Found> parts) throws CheckpointException {
        List<String> names = new ArrayList<>();
        ParameterRule rule = rule(parts);
        if (rule == null) {
            names.addAll(List.of("gate", "up"));
        } else {
            for (Part known : rule.parts()) {
                parts.stream()
                        .map(Found::part)
                        .filter(part -> known.numberOf(part) >= 0)
                        .sorted((a, b) -> known.numberOf(a) - known.numberOf(b))
                        .forEach(names::add);
                if (!known.name().endsWith("#") && !names.contains(known.name())) {
                    names.add(known.name());
                }
            }
        }
        List<Found> ordered = new ArrayList<>();
        for (String part : names) {
            ordered.add(parts.stream()
                    .filter(found -> found.part().equals(part))
                    .findFirst()
                    .orElseThrow(() -> CheckpointException.of(
                            Kind.INCOMPLETE, name, "its part " + part + " is not in the checkpoint")));
        }
        if (ordered.size() != parts.size()) {
            throw CheckpointException.of(
                    Kind.INCONSISTENT, name, "it is stored whole and in parts, or one part is there twice");
        }
        return ordered;
    }

    /** The row whose parts these are; several kinds of layer share keys and differ in their parts. */
    private static ParameterRule rule(List<Found> parts) {
        ParameterRule best = null;
        int most = -1;
        String dist = parts.get(0).rule() == null ? "" : parts.get(0).rule().dist();
        for (ParameterRule rule : MegatronTable.rules(MegatronName.Scope.LAYER)) {
            if (rule.dist().equals(dist)) {
                int known = 0;
                for (Found part : parts) {
                    known += rule.parts().stream().anyMatch(p -> p.numberOf(part.part()) >= 0) ? 1 : 0;
                }
                int surplus = Math.max(0, rule.parts().size() - known);
                if (known * 100 - surplus > most) {
                    most = known * 100 - surplus;
                    best = rule;
                }
            }
        }
        return best;
    }
}
