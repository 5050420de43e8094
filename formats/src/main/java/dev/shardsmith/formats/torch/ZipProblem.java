package dev.shardsmith.formats.torch;

/**
 * Something in a zip archive that PyTorch would not have written.
 *
 * @param kind what it is
 * @param record the entry's name; empty where it concerns the whole archive
 * @param offset where in the archive, in bytes
 * @param text what was found and expected
 */
record ZipProblem(Kind kind, String record, long offset, String text) {
    enum Kind {
        LEADING_BYTES(true),
        TRAILING_BYTES(false),
        COMMENT(false),
        HIDDEN_BYTES(false),
        DUPLICATE_RECORD(true),
        HEADER_MISMATCH(true),
        OVERLAPPING_RECORDS(true),
        ENCRYPTED_RECORD(true),
        UNKNOWN_METHOD(true),
        COMPRESSED_RECORD(false),
        ILLEGAL_NAME(true),
        OUTSIDE_FOLDER(true);

        private final boolean fatal;

        Kind(boolean fatal) {
            this.fatal = fatal;
        }

        /** True if a reader could be led to other bytes than PyTorch would read, or to none. */
        boolean fatal() {
            return fatal;
        }
    }
}
