package dev.shardsmith.verify.forward;

/**
 * The sizes of an attention.
 *
 * @param batch sequences
 * @param length tokens of each
 * @param heads query heads, a multiple of {@code keyHeads}
 * @param keyHeads key and value heads
 * @param headDim channels of a head
 */
public record AttentionShape(int batch, int length, int heads, int keyHeads, int headDim) {

    /** Checks that query heads divide among key heads. */
    public AttentionShape {
        if (keyHeads < 1 || heads < 1 || heads % keyHeads != 0) {
            throw new IllegalArgumentException(heads + " query heads for " + keyHeads + " key heads");
        }
    }
}
