package dev.shardsmith.verify.forward;

import java.util.Optional;

/**
 * Gives each weight of a layer another one in its place.
 *
 * <p>A role is what a weight does in its layer, such as {@code in_proj.weight}; the shards of one weight have one role, and so have the
 * same weights of all experts.
 */
@FunctionalInterface
public interface WeightMap {
    /** The weight to use for one of this role. */
    WeightSource of(String role, WeightSource weight);

    /** The weight to use for one that may be absent. */
    default Optional<WeightSource> of(String role, Optional<WeightSource> weight) {
        return weight.map(there -> of(role, there));
    }

    /** The same for weights whose roles are inside another one. */
    default WeightMap under(String prefix) {
        return (role, weight) -> of(prefix + role, weight);
    }
}
