package dev.shardsmith.verify.validate;

/**
 * Something that is wrong or odd.
 *
 * @param code what kind of thing, stable for scripts: {@code pattern.layer}, {@code keys.missing}
 * @param severity how bad it is
 * @param where tensor, layer, argument or line it is about
 * @param message one sentence
 * @param fix what to do; may be empty
 * @param effect what it means to a forward pass
 */
public record Finding(String code, Severity severity, String where, String message, String fix, Effect effect) {

    /** One that leaves a doubt to forward passes. */
    public Finding(String code, Severity severity, String where, String message, String fix) {
        this(code, severity, where, message, fix, Effect.DOUBT);
    }

    /** What a finding means to a forward pass that goes by the options. */
    public enum Effect {
        /** Nothing: the layers run as they are, whatever the options say. */
        NONE,
        /** It can be made, but what it computes may be another model. */
        DOUBT,
        /** It cannot be made. */
        PREVENTS
    }

    /** How bad a finding is. */
    public enum Severity {
        /** The checkpoint contradicts itself or what was asked; it is not valid. */
        ERROR("error"),
        /** Probably not meant. */
        WARNING("warning"),
        /** Worth knowing. */
        INFO("info");

        private final String id;

        Severity(String id) {
            this.id = id;
        }

        /** The word in reports. */
        public String id() {
            return id;
        }
    }
}
