package dev.shardsmith.formats.dcp;

/**
 * Something in a distributed checkpoint that does not fit together.
 *
 * @param code what sort of thing
 * @param subject the tensor, object or file
 * @param message one sentence for a report
 */
public record DcpFinding(Code code, String subject, String message) {
    /** Sorts of findings. */
    public enum Code {
        /** No chunk covers a part of a tensor. */
        MISSING_REGION(true),
        /** Two chunks cover the same part of a tensor. */
        OVERLAPPING_CHUNKS(true),
        /** A chunk or object has no place in any file. */
        MISSING_DATA(true),
        /** A data file does not exist or ends too early. */
        MISSING_FILE(true),
        /** A file has another digest than was recorded for it. */
        DAMAGED_FILE(true),
        /** Two items claim the same bytes of a file. */
        OVERLAPPING_ITEMS(true),
        /** A tensor has an element type that is not known. */
        UNKNOWN_DTYPE(true),
        /** A flattened tensor whose true shape the file does not tell. */
        MISSING_REFORMULATION(true),
        /** Two paths of the nested state dict contradict each other. */
        CONFLICTING_PATHS(false),
        /** A place in a file that no chunk refers to. */
        UNUSED_DATA(false);

        private final boolean error;

        Code(boolean error) {
            this.error = error;
        }

        /** True if the checkpoint cannot be read in full; false if this is only worth knowing. */
        public boolean isError() {
            return error;
        }
    }
}
