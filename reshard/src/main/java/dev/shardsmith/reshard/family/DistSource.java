package dev.shardsmith.reshard.family;

/**
 * Where a torch_dist checkpoint keeps a logical tensor, or a part of one.
 *
 * @param number the stored tensor's number
 * @param leading indices of its leading axes (layer, expert) that belong to the logical tensor; the others follow
 * @param base offset of the part along axis 0 of the logical tensor
 */
public record DistSource(int number, long[] leading, long base) {
    /** The same as a part that begins elsewhere. */
    DistSource at(long newBase) {
        return new DistSource(number, leading, newBase);
    }
}
