package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.family.MegatronDivisions;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.reshard.rule.UserRule;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.Parallelism;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Puts the shards of a Megatron model together into logical tensors.
 *
 * <p>Knows nothing of files: it gets, for each canonical name, which rank holds which view.
 */
final class MegatronMerge {
    /**
     * A rank's shard of a parameter.
     *
     * @param tensor tensor-parallel rank
     * @param data its view
     * @param where named in errors
     */
    record Shard(int tensor, StoredTensor data, String where) {}

    private final Map<String, List<Shard>> shards = new LinkedHashMap<>();
    private final Map<String, LogicalTensor> merged = new LinkedHashMap<>();
    private final List<String> unknown = new ArrayList<>();

    /** Adds a rank's shard under its canonical name. */
    void add(String name, Shard shard) {
        shards.computeIfAbsent(name, key -> new ArrayList<>()).add(shard);
    }

    /** Canonical names so far, in order. */
    Iterable<String> names() {
        return shards.keySet();
    }

    /**
     * Merges all shards.
     *
     * @param sizes sizes of the groups
     * @param gatedByDefault whether MLPs are gated where no shape tells
     * @param userRules what the user says about unknown parameters
     * @throws CheckpointException if shards are missing or their shapes contradict the rules
     */
    void merge(Parallelism sizes, boolean gatedByDefault, List<UserRule> userRules) throws CheckpointException {
        Map<String, Shape> local = new LinkedHashMap<>();
        shards.forEach((name, list) -> local.put(name, list.get(0).data().shape()));
        Map<String, MegatronDivisions.Cut> cuts = MegatronDivisions.cuts(local, userRules);
        Map<String, Shape> whole = new LinkedHashMap<>();
        for (Map.Entry<String, List<Shard>> entry : shards.entrySet()) {
            MegatronDivisions.Cut cut = cuts.get(entry.getKey());
            int world = world(cut == null ? World.TENSOR : cut.world(), sizes);
            whole.put(
                    entry.getKey(), wholeShape(entry.getKey(), entry.getValue(), cut == null ? -1 : cut.axis(), world));
        }
        MegatronDivisions divisions = MegatronDivisions.of(whole, gatedByDefault, userRules);
        for (Map.Entry<String, List<Shard>> entry : shards.entrySet()) {
            String name = entry.getKey();
            MegatronDivisions.Entry division = divisions.get(name).orElse(null);
            if (division == null) {
                unknown.add(name);
            } else {
                int world = world(division.world(), sizes);
                merged.put(name, logical(name, whole.get(name), division.division(), entry.getValue(), world));
            }
        }
        for (String name : unknown) {
            List<Shard> list = shards.get(name);
            if (world(World.TENSOR, sizes) == 1) {
                // One rank holds it whole, whatever its rule: it can be shown and copied, but not divided.
                merged.put(name, logical(name, whole.get(name), new Division.Replicated(), list, 1));
            }
        }
    }

    /** The logical tensors, in the order in which their names were first added. */
    List<LogicalTensor> tensors() {
        List<LogicalTensor> ordered = new ArrayList<>();
        for (String name : shards.keySet()) {
            if (merged.containsKey(name)) {
                ordered.add(merged.get(name));
            }
        }
        return ordered;
    }

    /** Names that no rule knows. */
    List<String> unknown() {
        return unknown;
    }

    private static int world(World world, Parallelism sizes) {
        return switch (world) {
            case TENSOR -> sizes.tensor();
            case EXPERT_TENSOR -> sizes.expertTensor();
        };
    }

    private static Shape wholeShape(String name, List<Shard> list, int axis, int world) throws CheckpointException {
        Shape first = list.get(0).data().shape();
        if (axis < 0 || axis >= first.rank()) {
            return first;
        }
        long total = 0;
        for (int rank = 0; rank < world; rank++) {
            total = Math.addExact(
                    total, ofRank(name, list, rank, world).data().shape().size(axis));
        }
        return first.with(axis, total);
    }

    private static Shard ofRank(String name, List<Shard> list, int rank, int world) throws CheckpointException {
        for (Shard shard : list) {
            if (shard.tensor() == rank) {
                return shard;
            }
        }
        throw CheckpointException.of(
                Kind.INCOMPLETE,
                name,
                "tensor-parallel rank " + rank + " of " + world + " does not have this parameter, although "
                        + list.get(0).where() + " has it");
    }

    private static LogicalTensor logical(String name, Shape whole, Division division, List<Shard> list, int world)
            throws CheckpointException {
        List<Piece> pieces = new ArrayList<>();
        List<Piece> replicas = new ArrayList<>();
        boolean[] seen = new boolean[world];
        for (Shard shard : list) {
            int rank = shard.tensor();
            if (shard.data().dtype() != list.get(0).data().dtype()) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        shard.where() + " stores it as " + shard.data().dtype().torchName() + ", "
                                + list.get(0).where() + " as "
                                + list.get(0).data().dtype().torchName());
            }
            Shape expected = division.localShape(whole, rank, world);
            if (!expected.equals(shard.data().shape())) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        "rank " + rank + " of " + world + " (" + shard.where() + ") has shape "
                                + shard.data().shape() + ", but the rule (" + division.describe() + ") gives it "
                                + expected + " of " + whole);
            }
            boolean replica = seen[rank] || (division.replicated() && !pieces.isEmpty());
            seen[rank] = true;
            for (Placement placement : division.placements(whole, rank, world)) {
                StoredTensor view = shard.data()
                        .narrow(placement.local(), placement.logical().size());
                (replica ? replicas : pieces).add(new Piece(placement.logical().offset(), view));
            }
        }
        for (int rank = 0; rank < world; rank++) {
            if (!seen[rank]) {
                ofRank(name, list, rank, world);
            }
        }
        return LogicalTensor.of(name, list.get(0).data().dtype(), whole, division.describe(), pieces, replicas);
    }
}
