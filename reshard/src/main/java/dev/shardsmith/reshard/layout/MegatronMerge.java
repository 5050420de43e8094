package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MegatronDivisions;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.region.Box;
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
import java.util.Optional;

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
     * @param shape its own shape
     * @param pieces views that together are the shard; offsets are its own
     * @param where named in errors
     */
    record Shard(int tensor, Shape shape, List<Piece> pieces, String where) {
        /** Element type. */
        DType dtype() {
            return pieces.get(0).data().dtype();
        }

        /**
         * The rank in a group of the given size. Ranks are numbered tensor parallelism first, for dense layers as for
         * experts, so the group of a size that divides the other has the remainder.
         */
        int rank(int world) {
            return tensor % world;
        }
    }

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
        shards.forEach((name, list) -> local.put(name, list.get(0).shape()));
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
        Shape first = list.get(0).shape();
        if (axis < 0 || axis >= first.rank()) {
            return first;
        }
        long total = 0;
        for (int rank = 0; rank < world; rank++) {
            Shard shard = ofRank(name, list, rank, world);
            if (shard.shape().rank() != first.rank()) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        shard.where() + " stores it with shape " + shard.shape() + ", "
                                + list.get(0).where() + " with " + first);
            }
            total = Math.addExact(total, shard.shape().size(axis));
        }
        return first.with(axis, total);
    }

    private static Shard ofRank(String name, List<Shard> list, int rank, int world) throws CheckpointException {
        for (Shard shard : list) {
            if (shard.rank(world) == rank) {
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
            int rank = shard.rank(world);
            if (shard.dtype() != list.get(0).dtype()) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        shard.where() + " stores it as " + shard.dtype().torchName() + ", "
                                + list.get(0).where() + " as "
                                + list.get(0).dtype().torchName());
            }
            Shape expected = division.localShape(whole, rank, world);
            if (!expected.equals(shard.shape())) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        "rank " + rank + " of " + world + " (" + shard.where() + ") has shape "
                                + shard.shape() + ", but the rule (" + division.describe() + ") gives it "
                                + expected + " of " + whole);
            }
            boolean replica = seen[rank] || (division.replicated() && !pieces.isEmpty());
            seen[rank] = true;
            for (Placement placement : division.placements(whole, rank, world)) {
                place(placement, shard, replica ? replicas : pieces);
            }
        }
        for (int rank = 0; rank < world; rank++) {
            if (!seen[rank]) {
                ofRank(name, list, rank, world);
            }
        }
        return LogicalTensor.of(name, list.get(0).dtype(), whole, division.describe(), pieces, replicas);
    }

    /** The parts of a shard's pieces that lie in a box of it. */
    private static void place(Placement placement, Shard shard, List<Piece> pieces) {
        Box local = new Box(placement.local(), placement.logical().size());
        for (Piece piece : shard.pieces()) {
            boolean whole = shard.pieces().size() == 1;
            Optional<Box> common = whole ? Optional.of(local) : piece.box().intersect(local);
            if (common.isPresent()) {
                long[] at = placement.logical().offset().clone();
                for (int dim = 0; dim < at.length; dim++) {
                    at[dim] += common.get().offset()[dim] - local.offset()[dim];
                }
                pieces.add(new Piece(at, piece.view(common.get())));
            }
        }
    }
}
