package dev.shardsmith.verify.digest;

/**
 * Something in which a checkpoint is not what its manifest says.
 *
 * @param code a stable word for scripts
 * @param tensor the tensor, empty if it is about a file alone
 * @param file the file relative to the checkpoint, empty if it is about a tensor alone
 * @param offset first byte of the damage in the file
 * @param length bytes that the damage lies within; 0 if it is about a whole file or a tensor alone
 * @param message in one sentence
 */
public record ManifestFinding(Code code, String tensor, String file, long offset, long length, String message) {
    /** What is wrong. */
    public enum Code {
        FILE_MISSING("file-missing"),
        FILE_SIZE("file-size"),
        FILE_BLOCK("file-block"),
        TENSOR_MISSING("tensor-missing"),
        TENSOR_EXTRA("tensor-extra"),
        TENSOR_SHAPE("tensor-shape"),
        TENSOR_DTYPE("tensor-dtype"),
        TENSOR_DIGEST("tensor-digest"),
        TENSOR_COPY("tensor-copy"),
        UNREADABLE("unreadable");

        private final String id;

        Code(String id) {
            this.id = id;
        }

        /** The word in reports. */
        public String id() {
            return id;
        }
    }

    /** The finding that the checkpoint cannot be opened at all, so that its tensors were not checked. */
    public static ManifestFinding unreadable(String message) {
        return new ManifestFinding(Code.UNREADABLE, "", "", 0, 0, message);
    }

    static ManifestFinding ofFile(Code code, String file, String message) {
        return new ManifestFinding(code, "", file, 0, 0, message);
    }

    static ManifestFinding ofTensor(Code code, String tensor, String message) {
        return new ManifestFinding(code, tensor, "", 0, 0, message);
    }
}
