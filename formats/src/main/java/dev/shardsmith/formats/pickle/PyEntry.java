package dev.shardsmith.formats.pickle;

import java.util.List;
import java.util.Optional;

/** A key and its value in a dict or in an object that is filled like one. */
public record PyEntry(PyValue key, PyValue value) {
    /** True if the key is this string. */
    public boolean hasKey(String text) {
        return key instanceof PyStr str && str.value().equals(text);
    }

    static Optional<PyValue> find(List<PyEntry> entries, String key) {
        // From the end: of equal keys Python keeps the last value.
        for (int i = entries.size() - 1; i >= 0; i--) {
            if (entries.get(i).hasKey(key)) {
                return Optional.of(entries.get(i).value());
            }
        }
        return Optional.empty();
    }

    static void put(List<PyEntry> entries, String key, PyValue value) {
        for (int i = 0; i < entries.size(); i++) {
            if (entries.get(i).hasKey(key)) {
                entries.set(i, new PyEntry(entries.get(i).key(), value));
                return;
            }
        }
        entries.add(new PyEntry(new PyStr(key), value));
    }
}
