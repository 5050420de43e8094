package dev.shardsmith.formats.torch;

/** What loading a pickle that names a class or function would mean, from harmless to harmful. */
public enum GlobalRisk {
    /** PyTorch loads it with {@code weights_only=True}. */
    ALLOWED,
    /** Not in PyTorch's list, but known to do nothing but make values. */
    KNOWN,
    /** Code that we know nothing about would run. */
    UNKNOWN,
    /** Known to run commands, load code, or read and write files. */
    DANGEROUS
}
