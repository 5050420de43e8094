package dev.shardsmith.cli.terminal;

/** How progress is shown on standard error. */
public enum ProgressStyle {
    /** One line, redrawn in place. */
    REDRAWN,
    /** A line of its own now and then, for logs. */
    LINES,
    /** Not at all. */
    NONE
}
