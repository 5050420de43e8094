package dev.shardsmith.reshard.execute;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

/**
 * Tells which plan an unfinished target belongs to and how the work was cut, in four lines of text.
 *
 * @param plan the plan's fingerprint
 * @param tasks number of tasks that share the work
 * @param bandBytes size of a band's buffer
 */
record RunHeader(String plan, int tasks, int bandBytes) {
    private static final String TITLE = "shardsmith run 1";

    /** The header in a file, if the file is there and sound. */
    static Optional<RunHeader> read(Path file) throws IOException {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        List<String> lines =
                Files.readString(file, StandardCharsets.ISO_8859_1).lines().toList();
        if (lines.size() != 4
                || !lines.get(0).equals(TITLE)
                || !lines.get(2).matches("[0-9]{1,9}")
                || !lines.get(3).matches("[0-9]{1,9}")) {
            return Optional.empty();
        }
        return Optional.of(new RunHeader(lines.get(1), Integer.parseInt(lines.get(2)), Integer.parseInt(lines.get(3))));
    }

    /** Writes the header so that the file is whole or not there. */
    void write(Path file) throws IOException {
        Path unfinished = file.resolveSibling(file.getFileName() + ".new");
        Files.writeString(
                unfinished, String.join("\n", TITLE, plan, Integer.toString(tasks), Integer.toString(bandBytes)));
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
