package dev.shardsmith.cli;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** What one command line printed and how it ended, run inside the test's process. */
record CommandRun(ExitCode exit, String out, String err) {
    /** Runs a command line without a terminal. */
    static CommandRun of(String... words) {
        return with(Map.of(), words);
    }

    /** Runs a command line in the given environment. */
    static CommandRun with(Map<String, String> environment, String... words) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        ExitCode exit = new Shardsmith(
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8),
                        environment)
                .run(words);
        return new CommandRun(exit, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    /** The lines of the report. */
    List<String> lines() {
        return out.lines().toList();
    }
}
