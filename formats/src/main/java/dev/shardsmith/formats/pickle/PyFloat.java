package dev.shardsmith.formats.pickle;

/** A Python float; NaN payloads are kept. */
public record PyFloat(double value) implements PyValue {
    // Conversions compare these before they write anything, and Java takes milliseconds to link what it makes for a
    // record.
    @Override
    public boolean equals(Object other) {
        return other instanceof PyFloat number && Double.compare(value, number.value) == 0;
    }

    @Override
    public int hashCode() {
        return Double.hashCode(value);
    }
}
