package dev.shardsmith.formats.torch;

import java.util.List;

/**
 * What a scan found.
 *
 * @param verdict the answer in one word
 * @param files what was looked at, in order
 * @param globals every class and function that would be imported, the most dangerous first
 * @param findings what speaks against loading the files, the worst first
 */
public record ScanReport(Verdict verdict, List<ScannedFile> files, List<GlobalUse> globals, List<Finding> findings) {
    /** The answer of a scan. */
    public enum Verdict {
        /** Everything was read, and nothing speaks against loading it. */
        CLEAN,
        /** Something speaks against it. */
        FINDINGS,
        /** Not everything could be read, and what was read is harmless or merely odd. */
        INCONCLUSIVE
    }

    /** How bad a finding is. */
    public enum Severity {
        /** Loading the file would do harm, or the file hides something. */
        DANGER,
        /** Loading the file would run unknown code, or the file is not as PyTorch writes it. */
        WARNING,
        /** A part could not be read. */
        UNREAD
    }

    /**
     * A file that was looked at.
     *
     * @param name its name
     * @param kind what it is
     * @param complete true if all of it that could matter was read
     */
    public record ScannedFile(String name, FileKind kind, boolean complete) {}

    /**
     * A class or function that loading would import.
     *
     * @param name as the pickle has it: {@code torch._utils._rebuild_tensor_v2}
     * @param risk what that would mean
     * @param uses how often it is named
     * @param where the file and record where it is first named
     * @param offset the byte there
     */
    public record GlobalUse(String name, GlobalRisk risk, long uses, String where, long offset) {}

    /**
     * Something that speaks against loading a file.
     *
     * @param code what sort of finding it is, for programs: {@code dangerous-global}, {@code duplicate-record}
     * @param severity how bad it is
     * @param where file and record
     * @param offset the byte there
     * @param message what it is, in words
     */
    public record Finding(String code, Severity severity, String where, long offset, String message) {}
}
