package dev.shardsmith.formats.pickle;

/** A Python string; lone surrogates are kept as Java's. */
public record PyStr(String value) implements PyValue {
    // Conversions compare these before they write anything, and Java takes milliseconds to link what it makes for a
    // record.
    @Override
    public boolean equals(Object other) {
        return other instanceof PyStr text && value.equals(text.value);
    }

    @Override
    public int hashCode() {
        return value.hashCode();
    }
}
