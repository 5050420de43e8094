package dev.shardsmith.verify.forward;

/**
 * The sizes of a state-space scan.
 *
 * @param batch sequences
 * @param length tokens of each sequence
 * @param heads heads, a multiple of {@code groups}
 * @param headDim channels of a head
 * @param groups groups of B and C; head {@code h} uses group {@code h / (heads / groups)}
 * @param state columns of a head's state
 */
public record ScanShape(int batch, int length, int heads, int headDim, int groups, int state) {

    /** Checks that the sizes fit each other and that every array can be addressed. */
    public ScanShape {
        if (batch < 1 || length < 0 || heads < 1 || headDim < 1 || groups < 1 || state < 1) {
            throw new IllegalArgumentException("a scan of %d × %d tokens, %d heads × %d, %d groups × %d"
                    .formatted(batch, length, heads, headDim, groups, state));
        }
        if (heads % groups != 0) {
            throw new IllegalArgumentException(heads + " heads do not divide into " + groups + " groups");
        }
        long inner = Math.multiplyExact((long) heads, headDim);
        Math.toIntExact(Math.multiplyExact(Math.multiplyExact((long) batch, length), inner));
        Math.toIntExact(Math.multiplyExact(Math.multiplyExact((long) batch, length), (long) groups * state));
        Math.toIntExact(Math.multiplyExact(Math.multiplyExact((long) batch, inner), state));
    }

    /** Tokens of all sequences. */
    public int tokens() {
        return batch * length;
    }

    /** Channels of all heads. */
    public int inner() {
        return heads * headDim;
    }

    /** Columns of B, or of C, of all groups. */
    public int groupState() {
        return groups * state;
    }

    /** Elements of the states of one sequence. */
    public int stateSize() {
        return heads * headDim * state;
    }

    /** The group that a head uses. */
    public int groupOf(int head) {
        return head / (heads / groups);
    }
}
