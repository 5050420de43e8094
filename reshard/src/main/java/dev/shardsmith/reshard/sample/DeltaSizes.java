package dev.shardsmith.reshard.sample;

/**
 * Sizes of a sample's gated delta nets, in the terms of Megatron's options.
 *
 * @param keyHeads heads of queries and keys
 * @param keyDim channels of a key head
 * @param valueHeads heads of values
 * @param valueDim channels of a value head
 * @param kernel width of the convolution
 */
public record DeltaSizes(long keyHeads, long keyDim, long valueHeads, long valueDim, long kernel) {

    /** As many heads as the model's attention has, and twice as many for values. */
    static DeltaSizes of(long heads, long headDim) {
        return new DeltaSizes(heads, headDim, 2 * heads, headDim, 4);
    }

    /** Channels of all queries, and of all keys. */
    long keys() {
        return keyHeads * keyDim;
    }

    /** Channels of all values. */
    long values() {
        return valueHeads * valueDim;
    }
}
