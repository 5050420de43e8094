package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;

/**
 * What tells a changed source file from an unchanged one.
 *
 * @param size length in bytes
 * @param changed time of its last change
 */
record SourceState(long size, Instant changed) {
    /**
     * The state of a file now.
     *
     * @throws CheckpointException {@code ENVIRONMENT} if it is not there any more
     */
    static SourceState of(Path file) throws IOException {
        try {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            return new SourceState(
                    attributes.size(), attributes.lastModifiedTime().toInstant());
        } catch (NoSuchFileException e) {
            throw CheckpointException.of(
                            CheckpointException.Kind.ENVIRONMENT, file.toString(), "the source file vanished")
                    .withHint("check whether a training run removes old checkpoints, and work on a copy")
                    .causedBy(e);
        }
    }
}
