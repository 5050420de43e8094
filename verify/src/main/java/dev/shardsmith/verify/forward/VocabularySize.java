package dev.shardsmith.verify.forward;

import java.util.OptionalInt;

/**
 * How many rows of a vocabulary mean something, as far as the saved options tell.
 *
 * @param real rows that stand for tokens; the rows after them are padding
 * @param multiple what the number of stored rows is rounded up to
 */
public record VocabularySize(OptionalInt real, long multiple) {
    /** Nothing is known: every row may mean something. */
    public static final VocabularySize UNKNOWN = new VocabularySize(OptionalInt.empty(), 1);

    /**
     * Whether the last rows are padding.
     *
     * @param rows stored rows
     * @param first the first of those in question, which another checkpoint does not have
     */
    public boolean isPadding(int rows, int first) {
        if (real.isPresent() && real.getAsInt() > 0 && real.getAsInt() <= rows) {
            return first >= real.getAsInt();
        }
        return multiple > 1 && rows - (long) first < multiple && rows % multiple == 0;
    }
}
