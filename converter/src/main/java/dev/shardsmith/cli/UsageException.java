package dev.shardsmith.cli;

/** The command line itself is wrong; nothing was done. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
