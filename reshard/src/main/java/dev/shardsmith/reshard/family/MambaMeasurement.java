package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MambaDivisions.Extent;
import dev.shardsmith.reshard.family.MambaTable.Part;
import dev.shardsmith.reshard.family.MambaTable.Row;
import dev.shardsmith.reshard.rule.Division;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Measures how a checkpoint is divided on the shapes of its ranks, and holds that against the rule and the config. */
final class MambaMeasurement {
    /** No dimension of a model is near this; sums and products of smaller ones are safe. */
    private static final long LONGEST = 1L << 40;

    private final List<Map<String, Shape>> ranks;
    private final MambaRules rules;
    private final int world;
    private final MambaExpectation expectation;
    private final MambaDivisions result = new MambaDivisions();

    private MambaMeasurement(List<Map<String, Shape>> ranks, MambaRules rules) {
        this.ranks = ranks;
        this.rules = rules;
        this.world = ranks.size();
        this.expectation = new MambaExpectation(rules.config());
    }

    static MambaDivisions measure(List<Map<String, Shape>> ranks, MambaRules rules, Extent extent)
            throws CheckpointException {
        MambaMeasurement measurement = new MambaMeasurement(ranks, rules);
        measurement.run(extent);
        return measurement.result;
    }

    private void run(Extent extent) throws CheckpointException {
        for (int rank = 1; rank < world; rank++) {
            for (String key : ranks.get(rank).keySet()) {
                if (!ranks.get(0).containsKey(key)) {
                    throw CheckpointException.of(
                            Kind.INCONSISTENT,
                            key,
                            "rank " + rank + " of " + world + " has this parameter, but rank 0 does not");
                }
            }
        }
        List<MambaSizes> found = new ArrayList<>();
        for (MambaFrame.Layer layer : MambaFrame.of(ranks).layers(ranks.get(0).keySet())) {
            List<MambaSizes> sizes = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                sizes.add(new MambaSizes(layer.shapes(ranks.get(rank)), rules.config(), rank, world));
            }
            MambaSizes whole = MambaSizes.sum(sizes);
            for (Map.Entry<String, String> parameter : layer.keys().entrySet()) {
                measure(parameter.getValue(), parameter.getKey(), sizes, whole);
            }
            agree(layer, sizes, whole);
            expectation.compare(layer, whole, result.shapes(), this::isShared);
            found.add(whole);
        }
        expectation.report(result, found, world, extent);
    }

    private boolean isShared(String symbol, MambaSizes whole) {
        return world > 1 && copied(symbol, whole.each(symbol))
                || rules.shared(new Part("", symbol, false), whole.kind());
    }

    private void measure(String key, String suffix, List<MambaSizes> sizes, MambaSizes whole)
            throws CheckpointException {
        Shape first = ranks.get(0).get(key);
        Optional<Row> row = rules.row(key, suffix, whole.kind());
        if (row.isEmpty() || row.get().axis() >= first.rank()) {
            requireAlike(key, -1, "--rule '" + key + "=column', or =row, says how convert shall divide it");
            result.addUnknown(key, first);
            return;
        }
        int axis = row.get().axis();
        if (axis < 0) {
            if (!row.get().rankZero()) {
                requireAlike(key, axis, "");
            }
            result.add(key, first, MambaDivisions.undivided(row.get()));
            return;
        }
        requireAlike(key, axis, "");
        List<Division.Listed.Part> parts = new ArrayList<>();
        for (Part part : MambaRules.parts(row.get(), sizes.get(0))) {
            List<Long> lengths = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                lengths.add(sizes.get(rank).width(part, ranks.get(rank).get(key), axis));
            }
            if (lengths.stream().anyMatch(length -> length > 0)) {
                boolean shared = world > 1 && (rules.shared(part, whole.kind()) || copied(part.width(), lengths));
                if (!shared) {
                    MambaExactness.check(key, axis, part, lengths, rules, whole).ifPresent(result::addWarning);
                }
                parts.add(new Division.Listed.Part(part.name(), lengths, shared));
            }
        }
        Division.Listed division = new Division.Listed(axis, parts);
        Shape undivided = first.with(axis, division.width());
        for (int rank = 0; rank < world; rank++) {
            long expected = division.localShape(undivided, rank, world).size(axis);
            long has = ranks.get(rank).get(key).size(axis);
            if (has != expected) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        key,
                        "rank " + rank + " of " + world + " holds " + has + " " + MambaExactness.lines(axis)
                                + ", but the other parameters of its layer make that " + expected + " ("
                                + division.describe() + "): off by " + Math.abs(has - expected));
            }
        }
        result.add(key, undivided, division);
    }

    /** All ranks must have the parameter, with the same sizes in all dimensions but the one that is divided. */
    private void requireAlike(String key, int axis, String advice) throws CheckpointException {
        Shape first = ranks.get(0).get(key);
        for (int rank = 0; rank < world; rank++) {
            Shape own = ranks.get(rank).get(key);
            String problem = null;
            Kind kind = Kind.INCONSISTENT;
            if (own == null) {
                kind = Kind.INCOMPLETE;
                problem = "rank " + rank + " of " + world + " does not have this parameter";
            } else if (own.rank() != first.rank() || !own.equals(axis < 0 ? first : first.with(axis, own.size(axis)))) {
                problem = "rank " + rank + " of " + world + " has shape " + own + ", but rank 0 has " + first
                        + (axis < 0
                                ? ", and every rank should hold all of it"
                                : "; only their " + MambaExactness.lines(axis) + " may differ");
            } else if (own.rank() > 0 && own.size(Math.max(0, axis)) > LONGEST) {
                kind = Kind.LIMIT;
                problem = "a dimension of " + own.size(Math.max(0, axis)) + " is no model's";
            }
            if (problem != null) {
                CheckpointException refused = CheckpointException.of(kind, key, problem);
                throw advice.isEmpty() ? refused : refused.withHint(advice);
            }
        }
    }

    /** True if every rank holds all that the config says there is: B and C of one group, keys and values of one head. */
    private boolean copied(String symbol, List<Long> lengths) {
        boolean copiable = symbol.equals("GN") || symbol.equals("kv");
        return copiable
                && expectation.width(symbol).isPresent()
                && lengths.stream().allMatch(expectation.width(symbol).get()::equals);
    }

    /** The parts of a layer must be divided alike: a rank that has a third of the heads has a third of their channels. */
    private void agree(MambaFrame.Layer layer, List<MambaSizes> sizes, MambaSizes whole) throws CheckpointException {
        List<String> symbols = switch (whole.kind()) {
            case MAMBA2 -> List.of("H", "ds", "D", "GN");
            case MAMBA3 -> List.of("H", "di", "GN");
            case ATTENTION -> List.of("kv", "q");
            case MAMBA1, NONE -> List.of();
        };
        for (String symbol : symbols) {
            String base = symbols.get(0);
            if (whole.width(symbol) == 0 || isShared(symbol, whole) || isShared(base, whole)) {
                continue;
            }
            for (int rank = 0; rank < world; rank++) {
                boolean same = product(sizes.get(rank).width(symbol), whole.width(base))
                        .equals(product(sizes.get(rank).width(base), whole.width(symbol)));
                if (!same && whole.kind() == MambaSizes.Kind.ATTENTION) {
                    result.addWarning(layer.prefix() + "mixer: query heads do not lie with their key and value heads;"
                            + " the shards can be merged, but not run");
                } else if (!same) {
                    throw CheckpointException.of(
                            Kind.INCONSISTENT,
                            layer.prefix() + "mixer",
                            "rank " + rank + " of " + world + " holds "
                                    + sizes.get(rank).width(base) + " of "
                                    + whole.width(base) + " heads, but "
                                    + sizes.get(rank).width(symbol) + " of "
                                    + whole.width(symbol) + " " + MambaExpectation.words(symbol));
                }
            }
        }
    }

    private static BigInteger product(long a, long b) {
        return BigInteger.valueOf(a).multiply(BigInteger.valueOf(b));
    }
}
