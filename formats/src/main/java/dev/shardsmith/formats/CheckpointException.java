package dev.shardsmith.formats;

import java.io.IOException;
import java.util.Optional;

/**
 * The one error that a checkpoint, or what is asked of it, can cause.
 *
 * <p>It says what is wrong ({@link #problem()}), where ({@link #where()}: file, record and byte offset, or tensor), and
 * what to do next ({@link #hint()}). The message is one to four lines, ready for a terminal.
 */
public final class CheckpointException extends IOException {
    private static final long serialVersionUID = 1L;

    /** What sort of trouble it is; the command line derives its exit code from this. */
    public enum Kind {
        /** The bytes contradict their own format. */
        MALFORMED,
        /** The bytes end too early. */
        TRUNCATED,
        /** Loading it in Python would run code. */
        UNSAFE,
        /** Well formed as far as can be told, but of a kind that is not supported. */
        UNSUPPORTED,
        /** Parts of the checkpoint are missing. */
        INCOMPLETE,
        /** A safety limit was reached before anything was allocated. */
        LIMIT,
        /** The parts of the checkpoint contradict each other or the rules of its family. */
        INCONSISTENT,
        /** What was asked for cannot be done with this checkpoint. */
        REFUSED,
        /** The file system, the memory or a device failed or is in the wrong state. */
        ENVIRONMENT
    }

    private final Kind kind;
    private final String where;
    private final String problem;
    private final String hint;

    private CheckpointException(Kind kind, String where, String problem, String hint, Throwable cause) {
        super(message(where, problem, hint), cause);
        this.kind = kind;
        this.where = where;
        this.problem = problem;
        this.hint = hint;
    }

    /** An error of the given kind; {@code where} names file, record, offset or tensor and may be empty. */
    public static CheckpointException of(Kind kind, String where, String problem) {
        return new CheckpointException(kind, where, problem, "", null);
    }

    /** A {@link Kind#MALFORMED} error at a byte offset of a named source. */
    public static CheckpointException malformed(String source, long offset, String problem) {
        return of(Kind.MALFORMED, source + " at byte " + offset, problem);
    }

    /** A {@link Kind#TRUNCATED} error at a byte offset of a named source. */
    public static CheckpointException truncated(String source, long offset, String problem) {
        return of(Kind.TRUNCATED, source + " at byte " + offset, problem);
    }

    /** The same error with advice on what to do next. */
    public CheckpointException withHint(String advice) {
        CheckpointException copy = new CheckpointException(kind, where, problem, advice, getCause());
        copy.setStackTrace(getStackTrace());
        return copy;
    }

    /** The same error with its cause. */
    public CheckpointException causedBy(Throwable cause) {
        CheckpointException copy = new CheckpointException(kind, where, problem, hint, cause);
        copy.setStackTrace(getStackTrace());
        return copy;
    }

    /** What sort of trouble it is. */
    public Kind kind() {
        return kind;
    }

    /** File, record and byte offset, or tensor; empty where the problem says it all. */
    public String where() {
        return where;
    }

    /** What is wrong, what was expected and what was found. */
    public String problem() {
        return problem;
    }

    /** What to do next, if there is something. */
    public Optional<String> hint() {
        return hint.isEmpty() ? Optional.empty() : Optional.of(hint);
    }

    private static String message(String where, String problem, String hint) {
        StringBuilder text = new StringBuilder(problem);
        if (!where.isEmpty()) {
            text.append("\n  at: ").append(where);
        }
        if (!hint.isEmpty()) {
            text.append("\n  try: ").append(hint);
        }
        return text.toString();
    }
}
