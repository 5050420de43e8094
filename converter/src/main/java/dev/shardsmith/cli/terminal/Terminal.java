package dev.shardsmith.cli.terminal;

import java.util.List;
import java.util.Map;

/**
 * What is at the other end of standard output and standard error.
 *
 * <p>Java cannot tell whether a stream is a terminal, so the launcher looks and says it in the environment:
 * {@code SHARDSMITH_TERMINAL} holds {@code out}, {@code err} or both, {@code COLUMNS} the width.
 *
 * @param columns width for text, at least 40
 * @param tableColumns width for tables: as much as they like where a program reads them
 * @param reportsToTerminal whether standard output is a terminal
 * @param messagesToTerminal whether standard error is a terminal
 * @param colour whether reports may be coloured
 */
public record Terminal(
        int columns, int tableColumns, boolean reportsToTerminal, boolean messagesToTerminal, boolean colour) {
    private static final int DEFAULT_COLUMNS = 80;
    private static final int LEAST_COLUMNS = 40;

    /** A width that nothing reaches. */
    private static final int ANY_WIDTH = 1 << 20;

    /** No terminal at all: 80 columns, no colour. */
    public static final Terminal NONE = new Terminal(DEFAULT_COLUMNS, ANY_WIDTH, false, false, false);

    /** The terminal that the environment describes; {@code NO_COLOR} and {@code TERM=dumb} switch colours off. */
    public static Terminal of(Map<String, String> environment) {
        List<String> streams =
                List.of(environment.getOrDefault("SHARDSMITH_TERMINAL", "").split(" "));
        boolean out = streams.contains("out");
        boolean colour = out
                && environment.getOrDefault("NO_COLOR", "").isEmpty()
                && !environment.getOrDefault("TERM", "dumb").equals("dumb");
        String given = environment.getOrDefault("COLUMNS", "");
        int columns = columns(given);
        int tableColumns = out || !given.isEmpty() ? columns : ANY_WIDTH;
        return new Terminal(columns, tableColumns, out, streams.contains("err"), colour);
    }

    /** This terminal without colours. */
    public Terminal withoutColour() {
        return new Terminal(columns, tableColumns, reportsToTerminal, messagesToTerminal, false);
    }

    private static int columns(String text) {
        try {
            return Math.max(LEAST_COLUMNS, Integer.parseInt(text));
        } catch (NumberFormatException notANumber) {
            return DEFAULT_COLUMNS;
        }
    }
}
