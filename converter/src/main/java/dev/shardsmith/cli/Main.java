package dev.shardsmith.cli;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** The process: real streams, real environment, real exit code. */
public final class Main {
    private static final int REPORT_BUFFER = 1 << 16;

    private Main() {}

    /** Runs one command line and ends the process with its exit code. */
    public static void main(String[] words) {
        ReportStream out = new ReportStream(new FileOutputStream(FileDescriptor.out));
        PrintStream reports = stream(new BufferedOutputStream(out, REPORT_BUFFER), false);
        PrintStream messages = stream(new FileOutputStream(FileDescriptor.err), true);
        ExitCode exit = new Shardsmith(reports, messages, System.getenv()).run(words);
        reports.flush();
        System.exit(out.exit(exit, messages).code());
    }

    /** Text is UTF-8 whatever the locale: it holds tensor names, and JSON is UTF-8 by definition. */
    static PrintStream stream(OutputStream bytes, boolean flushesEachLine) {
        return new PrintStream(bytes, flushesEachLine, StandardCharsets.UTF_8);
    }
}
