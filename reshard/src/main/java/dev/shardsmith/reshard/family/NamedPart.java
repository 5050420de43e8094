package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.region.Box;
import java.util.List;

/**
 * A tensor of another naming scheme that holds a logical tensor, or a part of one.
 *
 * @param name its name there
 * @param shape its shape there
 * @param links which box of the logical tensor lies where in it
 */
public record NamedPart(String name, Shape shape, List<Link> links) {
    /**
     * A box of the logical tensor and its offset in the other tensor; sizes are equal.
     *
     * @param logical the box
     * @param at offset in the other tensor, in elements per dimension
     */
    public record Link(Box logical, long[] at) {}

    /** The whole logical tensor under another name. */
    public static NamedPart whole(String name, Shape shape) {
        return new NamedPart(name, shape, List.of(new Link(Box.whole(shape), new long[shape.rank()])));
    }
}
