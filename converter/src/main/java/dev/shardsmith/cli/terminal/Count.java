package dev.shardsmith.cli.terminal;

import java.util.Locale;

/** Numbers of things in sentences. */
public final class Count {
    private Count() {}

    /** {@code 1 file}, {@code 2 files}; for nouns that take an s. */
    public static String of(long count, String noun) {
        return String.format(Locale.ROOT, "%,d %s%s", count, noun, count == 1 ? "" : "s");
    }
}
