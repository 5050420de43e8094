package dev.shardsmith.reshard.completeness;

/**
 * Something that a model should have but has not.
 *
 * @param kind what sort of thing it is
 * @param name the tensor's name, or a pattern for the names of several that end in {@code *}
 * @param reason how that is known, without a closing dot
 */
public record Gap(Kind kind, String name, String reason) {
    /** What sort of thing is missing. */
    public enum Kind {
        /** A tensor. */
        TENSOR,
        /** A tensor of one of several experts. */
        EXPERT,
        /** A whole layer between others. */
        LAYER,
        /** A layer that only the saved options or the config tell of. */
        LAST_LAYER
    }

    static Gap tensor(String name, String reason) {
        return new Gap(Kind.TENSOR, name, reason);
    }
}
