package dev.shardsmith.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Name and version of the program, written into its jar by the build. */
final class Version {
    static final String TOOL = "shardsmith";

    private Version() {}

    /** Name and version, for the foot of a report. */
    static String line() {
        return TOOL + " " + current();
    }

    /** The version, such as {@code 0.1.0}. */
    static String current() {
        try (InputStream resource = Version.class.getResourceAsStream("version.txt")) {
            if (resource == null) {
                throw new IllegalStateException("version.txt is missing from the jar");
            }
            return new String(resource.readAllBytes(), StandardCharsets.UTF_8).strip();
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }
}
