package dev.shardsmith.verify.family;

/**
 * Where the rows of one rank's heads lie in Megatron's interleaved projection.
 *
 * <p>Its rows are, for each key head: the query heads that use it, their output gates if there are any, the key, the value; cut into equal slices over ranks.
 * With fewer key heads than ranks a slice ends inside such a run, and every rank reads the keys and values of its group
 * from the slices of its neighbours.
 *
 * @param heads query heads of all ranks
 * @param groups key heads of all ranks
 * @param headDim channels of a head
 * @param ranks tensor-parallel size
 * @param gated whether every query head has a gate of its output
 */
record QueryGroups(int heads, int groups, int headDim, int ranks, boolean gated) {

    /** Checks that heads and groups divide among each other and among ranks. */
    QueryGroups {
        boolean sizes = heads > 0 && groups > 0 && headDim > 0 && ranks > 0;
        if (!sizes || heads % groups != 0 || heads % ranks != 0 || groups % ranks != 0 && ranks % groups != 0) {
            throw new IllegalArgumentException(
                    "%d heads of %d channels in %d query groups on %d ranks".formatted(heads, headDim, groups, ranks));
        }
    }

    /** The rows of the projection over all ranks. */
    long allRows() {
        return ((gated ? 2L : 1L) * heads + 2L * groups) * headDim;
    }

    /** Whether the slice of a rank holds all that its heads use. */
    boolean insideRank() {
        return groups % ranks == 0;
    }

    int headsOfRank() {
        return heads / ranks;
    }

    int groupsOfRank() {
        return insideRank() ? groups / ranks : 1;
    }

    /**
     * The rows in the order [q heads, k heads, v heads, gates]; numbered in the slice of the rank, or over all slices if
     * {@link #insideRank} does not hold.
     */
    int[] rows(int rank) {
        int perGroup = heads / groups;
        int slots = (gated ? 2 : 1) * perGroup + 2;
        int firstHead = insideRank() ? 0 : rank * headsOfRank();
        int lastHead = firstHead + headsOfRank();
        int firstGroup = insideRank() ? 0 : firstHead / perGroup;
        int[] rows = new int[((gated ? 2 : 1) * headsOfRank() + 2 * groupsOfRank()) * headDim];
        int at = 0;
        for (int head = firstHead; head < lastHead; head++) {
            at = addHead(rows, at, head / perGroup * slots + head % perGroup);
        }
        for (int fromEnd = 2; fromEnd > 0; fromEnd--) {
            for (int group = firstGroup; group < firstGroup + groupsOfRank(); group++) {
                at = addHead(rows, at, (group + 1) * slots - fromEnd);
            }
        }
        for (int head = firstHead; gated && head < lastHead; head++) {
            at = addHead(rows, at, head / perGroup * slots + perGroup + head % perGroup);
        }
        return rows;
    }

    private int addHead(int[] rows, int at, int slot) {
        for (int i = 0; i < headDim; i++) {
            rows[at + i] = slot * headDim + i;
        }
        return at + headDim;
    }
}
