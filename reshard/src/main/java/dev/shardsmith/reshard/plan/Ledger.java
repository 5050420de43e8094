package dev.shardsmith.reshard.plan;

/**
 * The proof that comes with a plan: every source element is used or listed as dropped, every target element has one source.
 *
 * @param sourceElements elements of all logical tensors of the source, replicas counted once
 * @param usedElements those of them that reach at least one target
 * @param droppedElements those that were dropped by name and reason
 * @param targetElements elements of all target tensors, replicas counted each
 * @param copiedElements those that are bit copies
 * @param castElements those that are copied with a change of element type
 * @param filledElements those that are made up by a stated rule
 */
public record Ledger(
        long sourceElements,
        long usedElements,
        long droppedElements,
        long targetElements,
        long copiedElements,
        long castElements,
        long filledElements) {
    /** Target elements that have a source: copied, cast or filled. */
    public long sourcedElements() {
        return copiedElements + castElements + filledElements;
    }

    /** True if nothing is lost and nothing is unexplained. */
    public boolean balanced() {
        return sourceElements == usedElements + droppedElements && targetElements == sourcedElements();
    }
}
