package dev.shardsmith.verify.diff;

import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.verify.digest.OrderedWork;
import java.util.List;
import java.util.OptionalLong;

/**
 * What to compare, and how strictly.
 *
 * @param tolerance how far values may be apart
 * @param only names to compare; all if empty
 * @param ignored names to leave out
 * @param trueVocabulary rows of the vocabulary that mean something; the padding after them is left out
 * @param workers threads to use
 */
public record DiffOptions(
        Tolerance tolerance, List<Glob> only, List<Glob> ignored, OptionalLong trueVocabulary, int workers) {
    /** Everything, exactly, on all processors. */
    public static DiffOptions exact() {
        return new DiffOptions(Tolerance.EXACT, List.of(), List.of(), OptionalLong.empty(), OrderedWork.usualThreads());
    }

    boolean compares(String name) {
        return (only.isEmpty() || only.stream().anyMatch(glob -> glob.matches(name)))
                && ignored.stream().noneMatch(glob -> glob.matches(name));
    }
}
