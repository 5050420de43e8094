package dev.shardsmith.reshard.pattern;

/** What reading a pattern gives: the pattern, or the reason why it is none. */
public sealed interface PatternReading {

    /** The pattern was understood. */
    record Understood(HybridPattern pattern) implements PatternReading {}

    /** The pattern breaks a rule. */
    record Refused(PatternProblem problem) implements PatternReading {}
}
