package dev.shardsmith.reshard.pattern;

import java.util.OptionalInt;

/**
 * Layer counts given for the first and the last pipeline stage; the stages between share the rest.
 *
 * @param first layers of stage 0, if given; 0 is given
 * @param last layers of the last stage, if given
 */
public record EdgeStages(OptionalInt first, OptionalInt last) {
    /** No counts: all stages are equal. */
    public static final EdgeStages NONE = new EdgeStages(OptionalInt.empty(), OptionalInt.empty());

    /** Whether any count is given. */
    public boolean given() {
        return first.isPresent() || last.isPresent();
    }

    int stages() {
        return (first.isPresent() ? 1 : 0) + (last.isPresent() ? 1 : 0);
    }
}
