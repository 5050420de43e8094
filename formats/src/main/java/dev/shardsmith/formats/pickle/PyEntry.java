package dev.shardsmith.formats.pickle;

/** A key and its value in a dict or in an object that is filled like one. */
public record PyEntry(PyValue key, PyValue value) {
    /** True if the key is this string. */
    public boolean hasKey(String text) {
        return key instanceof PyStr str && str.value().equals(text);
    }
}
