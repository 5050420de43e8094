package dev.shardsmith.verify.validate;

/**
 * One option of a launch script against the checkpoint.
 *
 * @param option the option
 * @param line its line in the script; 0 if it is not given and its default counts
 * @param given its value there, or the default
 * @param checkpoint what the checkpoint has; empty if nothing can be said
 * @param verdict whether they go together
 * @param note why, and what to change
 */
public record LaunchRow(String option, int line, String given, String checkpoint, Verdict verdict, String note) {
    /** Whether an option fits. */
    public enum Verdict {
        /** They agree. */
        FITS("fits"),
        /** The run takes the checkpoint's value instead. */
        OVERRIDDEN("overridden"),
        /** The checkpoint does not load, or trains on as another model. */
        FAILS("fails"),
        /** It loads, but something changes. */
        CHANGES("changes"),
        /** The value depends on a variable that the script does not set. */
        UNKNOWN("unknown");

        private final String id;

        Verdict(String id) {
            this.id = id;
        }

        /** The word in reports. */
        public String id() {
            return id;
        }
    }
}
