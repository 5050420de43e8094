package dev.shardsmith.cli;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.gpu.GpuFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.Arrays;

/**
 * What an exception means to the user: an exit code and one to four lines.
 *
 * @param code the exit code
 * @param kind one word for the JSON document
 * @param message what is wrong, where, and what to do
 */
record Failure(ExitCode code, String kind, String message) {
    private static final int MOST_LINES = 4;

    /** The meaning of any exception that a command can end with. */
    static Failure of(Throwable thrown) {
        if (thrown instanceof UsageException usage) {
            return new Failure(ExitCode.USAGE, "usage", usage.getMessage());
        }
        if (thrown instanceof UncheckedIOException unchecked) {
            return of(unchecked.getCause());
        }
        if (thrown instanceof GpuFailure failed) {
            return of(failed.getCause());
        }
        if (thrown instanceof CheckpointException checkpoint) {
            return new Failure(code(checkpoint.kind()), word(checkpoint.kind()), fewLines(checkpoint.getMessage()));
        }
        if (thrown instanceof NoSuchFileException missing) {
            return new Failure(ExitCode.INPUT, "incomplete", "no such file: " + missing.getFile());
        }
        if (thrown instanceof AccessDeniedException denied) {
            return new Failure(ExitCode.ENVIRONMENT, "environment", "access denied: " + denied.getFile());
        }
        if (thrown instanceof FileAlreadyExistsException taken) {
            return new Failure(ExitCode.USAGE, "refused", """
                    %s exists already
                      try: --force replaces it""".formatted(taken.getFile()));
        }
        if (thrown instanceof FileSystemException trouble) {
            return new Failure(ExitCode.ENVIRONMENT, "environment", fewLines(trouble.getMessage()));
        }
        if (thrown instanceof IOException trouble) {
            return new Failure(
                    ExitCode.ENVIRONMENT, "environment", "input or output failed: " + fewLines(plain(trouble)));
        }
        if (thrown instanceof OutOfMemoryError) {
            return new Failure(ExitCode.ENVIRONMENT, "environment", """
                    the Java heap of %d MiB is too small for this
                      try: SHARDSMITH_JAVA_OPTS=-Xmx2g before the command""".formatted(
                            Runtime.getRuntime().maxMemory() >> 20));
        }
        return new Failure(ExitCode.BUG, "bug", """
                this is a fault of %s, not of your files: %s
                  try: the same command with --debug, and report what it prints""".formatted(Version.TOOL, fewLines(plain(thrown))));
    }

    private static ExitCode code(CheckpointException.Kind kind) {
        return switch (kind) {
            case MALFORMED, TRUNCATED, UNSAFE, UNSUPPORTED, INCOMPLETE, LIMIT, INCONSISTENT -> ExitCode.INPUT;
            case REFUSED -> ExitCode.USAGE;
            case ENVIRONMENT -> ExitCode.ENVIRONMENT;
        };
    }

    private static String word(CheckpointException.Kind kind) {
        return switch (kind) {
            case MALFORMED -> "malformed";
            case TRUNCATED -> "truncated";
            case UNSAFE -> "unsafe";
            case UNSUPPORTED -> "unsupported";
            case INCOMPLETE -> "incomplete";
            case LIMIT -> "limit";
            case INCONSISTENT -> "inconsistent";
            case REFUSED -> "refused";
            case ENVIRONMENT -> "environment";
        };
    }

    private static String plain(Throwable thrown) {
        String message = thrown.getMessage();
        String name = thrown.getClass().getSimpleName();
        return message == null || message.isBlank() ? name : name + ": " + message;
    }

    private static String fewLines(String text) {
        String[] lines = text.split("\\R", MOST_LINES + 1);
        return String.join("\n", lines.length > MOST_LINES ? Arrays.copyOf(lines, MOST_LINES) : lines);
    }
}
