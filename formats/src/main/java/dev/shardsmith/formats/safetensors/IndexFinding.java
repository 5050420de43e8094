package dev.shardsmith.formats.safetensors;

/**
 * Something about an index that does not fit the files it speaks of.
 *
 * @param code what sort of thing
 * @param subject the tensor or file
 * @param message one sentence for a report
 */
public record IndexFinding(Code code, String subject, String message) {
    /** Sorts of findings, each with its severity. */
    public enum Code {
        /** The index sends a tensor to a file name that leads out of the folder. */
        UNSAFE_PATH(Severity.ERROR),
        /** A file of the index does not exist. */
        MISSING_FILE(Severity.ERROR),
        /** The index lists a tensor that no file has. */
        GHOST_TENSOR(Severity.ERROR),
        /** A tensor is in another file than the index says. */
        WRONG_SHARD(Severity.ERROR),
        /** A tensor is in more than one file. */
        DUPLICATE_TENSOR(Severity.ERROR),
        /** A file has a tensor that the index does not list. */
        UNINDEXED_TENSOR(Severity.WARNING),
        /** A file of the folder is not named by the index. */
        UNINDEXED_FILE(Severity.WARNING),
        /** {@code total_size} is not the sum of the tensors. */
        WRONG_TOTAL_SIZE(Severity.WARNING);

        private final Severity severity;

        Code(Severity severity) {
            this.severity = severity;
        }

        /** How bad it is. */
        public Severity severity() {
            return severity;
        }
    }

    /** How bad a finding is. */
    public enum Severity {
        /** A reader that trusts the index loads a wrong or partial model. */
        ERROR,
        /** The model can be loaded in full. */
        WARNING
    }
}
