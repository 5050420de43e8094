package dev.shardsmith.verify.launch;

import dev.shardsmith.formats.CheckpointException;

/**
 * Something about a script that its user should know.
 *
 * @param line line of the script, from 1
 * @param message one sentence
 */
public record ScriptRemark(int line, String message) {
    static CheckpointException refused(int line, String problem) {
        return CheckpointException.of(CheckpointException.Kind.REFUSED, "launch script, line " + line, problem);
    }
}
