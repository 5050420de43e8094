package dev.shardsmith.formats.pickle;

/** Python's {@code None}. */
public enum PyNone implements PyValue {
    NONE
}
