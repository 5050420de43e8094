package dev.shardsmith.cli;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Loads the classes that commands need, so that the launcher can archive them.
 *
 * <p>Runs a few command lines with their output thrown away; Java then writes the archive when it exits.
 */
public final class WarmUp {
    private static final String[][] LINES = {
        {"--help"}, {"doctor"}, {"doctor", "--json"}, {"help", "doctor"}, {"no-such-command", "--json"},
    };

    private WarmUp() {}

    /** Runs the command lines. */
    public static void main(String[] words) {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        for (String[] line : LINES) {
            new Shardsmith(nowhere, nowhere, Map.of()).run(line);
        }
    }
}
