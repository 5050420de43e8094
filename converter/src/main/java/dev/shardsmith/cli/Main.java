package dev.shardsmith.cli;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** The process: real streams, real environment, real exit code. */
public final class Main {
    private static final int REPORT_BUFFER = 1 << 16;

    private Main() {}

    /** Runs one command line and ends the process with its exit code. */
    public static void main(String[] words) {
        // Reports are UTF-8 whatever the locale: they hold tensor names, and JSON is UTF-8 by definition.
        PrintStream reports = new PrintStream(
                new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), REPORT_BUFFER),
                false,
                StandardCharsets.UTF_8);
        PrintStream messages = new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
        ExitCode exit = new Shardsmith(reports, messages, System.getenv()).run(words);
        reports.flush();
        System.exit(exit.code());
    }
}
