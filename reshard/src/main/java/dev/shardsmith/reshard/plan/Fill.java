package dev.shardsmith.reshard.plan;

import dev.shardsmith.reshard.region.Box;

/**
 * Elements that no source has and that are made up by a stated rule: the rows of vocabulary padding.
 *
 * @param box the elements, in the target's logical tensor
 * @param mode how they are made
 */
public record Fill(Box box, Mode mode) {
    /** How padding rows are made. */
    public enum Mode {
        ZERO,
        /** Each row is a copy of the last source row. */
        REPEAT_LAST,
        /** Each row is the mean of all source rows, computed in double precision and rounded to nearest even. */
        MEAN
    }
}
