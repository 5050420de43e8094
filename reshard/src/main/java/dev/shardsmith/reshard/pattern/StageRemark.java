package dev.shardsmith.reshard.pattern;

/**
 * Something about a layout of stages that its user should know.
 *
 * @param severity whether the layout is unusable
 * @param message one sentence
 */
public record StageRemark(Severity severity, String message) {
    /** How bad it is. */
    public enum Severity {
        /** Layers get lost or doubled, or training does not start. */
        ERROR,
        /** It works and is probably not meant, or does not work everywhere. */
        WARNING
    }

    static StageRemark error(String message) {
        return new StageRemark(Severity.ERROR, message);
    }

    static StageRemark warning(String message) {
        return new StageRemark(Severity.WARNING, message);
    }
}
