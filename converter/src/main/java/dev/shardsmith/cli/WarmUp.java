package dev.shardsmith.cli;

import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Loads the classes that commands need, so that the launcher can archive them.
 *
 * <p>Runs a few command lines with their output thrown away; Java then writes the archive when it exits.
 */
public final class WarmUp {
    private WarmUp() {}

    /** Runs the command lines; takes a small checkpoint to run them on, or nothing. */
    public static void main(String[] words) {
        List<String[]> lines = new ArrayList<>();
        lines.add(new String[] {"--help"});
        lines.add(new String[] {"doctor", "--json"});
        lines.add(new String[] {"help", "doctor"});
        lines.add(new String[] {"pattern", "M-|M*"});
        lines.add(new String[] {"no-such-command", "--json"});
        if (words.length > 0) {
            String sample = words[0];
            lines.add(new String[] {"inspect", sample, "--tensors", "--json"});
            lines.add(new String[] {"inspect", sample, "--stats"});
            lines.add(new String[] {"convert", sample, sample + ".none", "--tp", "1", "--pp", "1", "--dry-run"});
            lines.add(new String[] {"diff", sample, sample});
        }
        PrintStream nowhere = Main.stream(OutputStream.nullOutputStream(), false);
        for (String[] line : lines) {
            new Shardsmith(nowhere, nowhere, System.getenv()).run(line);
        }
    }
}
