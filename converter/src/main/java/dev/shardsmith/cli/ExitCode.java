package dev.shardsmith.cli;

/** What the process tells its caller; scripts rely on these numbers. */
public enum ExitCode {
    /** Done; or the answer is yes: same, valid, equivalent, clean. */
    OK(0, "ok"),
    /** The answer is no: different, invalid, findings. */
    NO(1, "no"),
    /** Wrong usage, or something that cannot be done with this checkpoint. */
    USAGE(2, "usage"),
    /** The input is unreadable, damaged or inconclusive. */
    INPUT(3, "input"),
    /** Input and output or the environment failed: disk full, no device. */
    ENVIRONMENT(4, "environment"),
    /** A fault of the program itself. */
    BUG(70, "bug");

    private final int code;
    private final String status;

    ExitCode(int code, String status) {
        this.code = code;
        this.status = status;
    }

    /** The number for {@code System.exit}. */
    public int code() {
        return code;
    }

    /** The word for the {@code status} field of JSON output. */
    public String status() {
        return status;
    }

    /** {@link #OK} for yes, {@link #NO} for no. */
    static ExitCode answer(boolean yes) {
        return yes ? OK : NO;
    }
}
