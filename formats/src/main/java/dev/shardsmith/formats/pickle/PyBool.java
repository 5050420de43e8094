package dev.shardsmith.formats.pickle;

/** {@code True} or {@code False}. */
public record PyBool(boolean value) implements PyValue {
    public static final PyBool TRUE = new PyBool(true);
    public static final PyBool FALSE = new PyBool(false);

    /** The shared node for a value. */
    public static PyBool of(boolean value) {
        return value ? TRUE : FALSE;
    }

    // Conversions compare these before they write anything, and Java takes milliseconds to link what it makes for a
    // record.
    @Override
    public boolean equals(Object other) {
        return other instanceof PyBool bool && value == bool.value;
    }

    @Override
    public int hashCode() {
        return Boolean.hashCode(value);
    }
}
