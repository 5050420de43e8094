package dev.shardsmith.verify.family;

/**
 * Where the rows of one rank's heads lie in Megatron's interleaved projection.
 *
 * <p>Its rows are, for each key head: the query heads that use it, the key, the value; cut into equal slices over ranks.
 * With fewer key heads than ranks a slice ends inside such a run, and every rank reads the keys and values of its group
 * from the slices of its neighbours.
 *
 * @param heads query heads of all ranks
 * @param groups key heads of all ranks
 * @param headDim channels of a head
 * @param ranks tensor-parallel size
 */
record QueryGroups(int heads, int groups, int headDim, int ranks) {

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
     * The rows in the order [q heads, k heads, v heads]; numbered in the slice of the rank, or over all slices if
     * {@link #insideRank} does not hold.
     */
    int[] rows(int rank) {
        int perGroup = heads / groups;
        int firstHead = insideRank() ? 0 : rank * headsOfRank();
        int firstGroup = insideRank() ? 0 : firstHead / perGroup;
        int[] rows = new int[(headsOfRank() + 2 * groupsOfRank()) * headDim];
        int at = 0;
        for (int head = firstHead; head < firstHead + headsOfRank(); head++) {
            at = addHead(rows, at, head / perGroup * (perGroup + 2) + head % perGroup);
        }
        for (int part = 0; part < 2; part++) {
            for (int group = firstGroup; group < firstGroup + groupsOfRank(); group++) {
                at = addHead(rows, at, group * (perGroup + 2) + perGroup + part);
            }
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
