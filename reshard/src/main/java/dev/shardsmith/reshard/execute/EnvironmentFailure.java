package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;

/** Tells failures of the file system in words. */
final class EnvironmentFailure {
    private EnvironmentFailure() {}

    /** The failure to do something ({@code write}, {@code make}) with a path; what is told already is kept. */
    static CheckpointException of(String action, Path path, IOException failure) {
        if (failure instanceof CheckpointException told) {
            return told;
        }
        String reason = reason(failure);
        String lower = reason.toLowerCase(Locale.ROOT);
        String problem;
        String hint;
        if (lower.contains("no space left") || lower.contains("disk quota exceeded")) {
            problem = "cannot " + action + " the file: "
                    + (lower.contains("quota") ? "the quota is used up" : "the disk is full");
            hint = "make room and run the same command with --resume";
        } else if (failure instanceof AccessDeniedException || lower.contains("permission denied")) {
            problem = "cannot " + action + " the file: permission denied";
            hint = "choose a destination in a folder that you may write to";
        } else if (lower.contains("read-only file system")) {
            problem = "cannot " + action + " the file: the file system is read-only";
            hint = "choose a destination on another file system";
        } else {
            problem = "cannot " + action + " the file: " + reason;
            hint = action.equals("make")
                    ? "choose a destination in a folder that exists and that you may write to"
                    : "mend that and run the same command with --resume";
        }
        return CheckpointException.of(CheckpointException.Kind.ENVIRONMENT, path.toString(), problem)
                .withHint(hint)
                .causedBy(failure);
    }

    private static String reason(IOException failure) {
        if (failure instanceof FileSystemException named && named.getReason() != null) {
            return named.getReason();
        }
        if (failure instanceof NoSuchFileException) {
            return "the folder it belongs in does not exist or takes no files";
        }
        return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
    }
}
