package dev.shardsmith.reshard.pattern;

/**
 * What is wrong or odd about training arguments.
 *
 * @param severity how bad it is
 * @param field the field it is about
 * @param message one sentence
 * @param fix what to do; may be empty
 */
public record ArgumentRemark(Severity severity, String field, String message, String fix) {
    /** How bad it is. */
    public enum Severity {
        /** Training stops, or trains another model. */
        ERROR,
        /** It works and is probably not meant. */
        WARNING,
        /** Worth knowing. */
        INFO
    }
}
