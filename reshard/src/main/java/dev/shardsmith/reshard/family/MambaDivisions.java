package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MambaTable.Row;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.UserRule;
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
    /** What the files of a checkpoint are known to be, before their sizes are looked at. */
    public enum Extent {
        /** The undivided model: a config that says otherwise is remarked on. */
        WHOLE,
        /** Shares of ranks, even if there is only one: together they must be the model that the config describes. */
        RANKS
    }

    private final Map<String, Division> divisions = new LinkedHashMap<>();
    private final Map<String, Shape> shapes = new LinkedHashMap<>();
    private final List<String> unknown = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();

    MambaDivisions() {}

    /**
     * The division that a checkpoint has, measured on its shards and checked against the rule.
     *
     * @param ranks shapes by key of each rank
     * @param users divisions of parameters that the table does not know
     * @param extent what the files are
     * @throws CheckpointException if a rank's sizes are not those that the rule gives, or the ranks together are not the model
     *     that the config describes
     */
    public static MambaDivisions measured(
            List<Map<String, Shape>> ranks, MambaConfig config, List<UserRule> users, Extent extent)
            throws CheckpointException {
        return MambaMeasurement.measure(ranks, new MambaRules(config, Optional.empty(), users), extent);
    }

    /**
     * The division of an undivided model among ranks.
     *
     * @param multiple in which multiple the MLP's channels are divided, if not in the reference's
     * @param users divisions of parameters that the table does not know
     * @throws CheckpointException of kind REFUSED with every violation and the nearest legal sizes
     */
    public static MambaDivisions planned(
            Map<String, Shape> shapes, MambaConfig config, int world, Optional<Long> multiple, List<UserRule> users)
            throws CheckpointException {
        return MambaPlanning.plan(shapes, new MambaRules(config, multiple, users), world);
    }

    static Division undivided(Row row) {
        return row.rankZero() ? new Division.RankZeroOnly() : new Division.Replicated();
    }

    void add(String key, Shape whole, Division division) {
        shapes.put(key, whole);
        divisions.put(key, division);
    }

    void addUnknown(String key, Shape shape) {
        shapes.put(key, shape);
        unknown.add(key);
    }

    void addWarning(String text) {
        if (!warnings.contains(text)) {
            warnings.add(text);
        }
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
