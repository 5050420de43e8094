package dev.shardsmith.formats;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/** Bytes on their way to a file, whose name every failure tells: that of a full disk does not on its own. */
final class NamedOutput extends OutputStream {
    private final Path file;
    private final OutputStream target;

    NamedOutput(Path file, OutputStream target) {
        this.file = file;
        this.target = target;
    }

    @Override
    public void write(int one) throws IOException {
        write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        try {
            target.write(bytes, offset, length);
        } catch (IOException unwritable) {
            throw named(unwritable);
        }
    }

    @Override
    public void flush() throws IOException {
        try {
            target.flush();
        } catch (IOException unwritable) {
            throw named(unwritable);
        }
    }

    @Override
    public void close() throws IOException {
        try {
            target.close();
        } catch (IOException unwritable) {
            throw named(unwritable);
        }
    }

    private IOException named(IOException unwritable) {
        if (unwritable instanceof FileSystemException) {
            return unwritable;
        }
        return CheckpointException.of(
                        CheckpointException.Kind.ENVIRONMENT,
                        file.toString(),
                        "the file could not be written: " + unwritable.getMessage())
                .withHint("make room, or write to another folder")
                .causedBy(unwritable);
    }
}
