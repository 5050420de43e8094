package dev.shardsmith.formats;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Opens the files of checkpoints for reading and keeps at most {@value #MAX_OPEN} of them open at a time.
 *
 * <p>Each file's size and time of change are noted when it is first seen, so that {@link #verifyUnchanged} can tell when a
 * training run wrote into the checkpoint meanwhile.
 */
public final class FilePool implements Closeable {
    /** Below the usual limit of 1,024 descriptors, with room for the files that are written. */
    private static final int MAX_OPEN = 256;

    private final Map<Path, OpenFile> open = new LinkedHashMap<>(16, 0.75f, true);
    private final Map<Path, PooledFile> known = new LinkedHashMap<>();
    private boolean closed;

    /**
     * A source over a regular file.
     *
     * @throws CheckpointException if there is no such regular file
     */
    public ByteSource file(Path path) throws IOException {
        return file(path, path.getFileName() == null ? path.toString() : shortName(path));
    }

    /** A source over a regular file under the given name for messages. */
    public ByteSource file(Path path, String name) throws IOException {
        synchronized (this) {
            PooledFile seen = known.get(path);
            if (seen != null) {
                return seen;
            }
        }
        BasicFileAttributes attributes;
        try {
            attributes = Files.readAttributes(path, BasicFileAttributes.class);
        } catch (NoSuchFileException e) {
            throw CheckpointException.of(
                            CheckpointException.Kind.INCOMPLETE, path.toString(), "the file does not exist")
                    .causedBy(e);
        }
        if (!attributes.isRegularFile()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED, path.toString(), "this is not a regular file");
        }
        PooledFile file = new PooledFile(path, name, attributes.size(), attributes.lastModifiedTime());
        synchronized (this) {
            PooledFile earlier = known.putIfAbsent(path, file);
            return earlier == null ? file : earlier;
        }
    }

    /** Paths of all files handed out so far, in order. */
    public synchronized List<Path> files() {
        return new ArrayList<>(known.keySet());
    }

    /** Fails if a file was removed, or has another size or time of change than when it was first seen. */
    public void verifyUnchanged() throws IOException {
        List<PooledFile> files;
        synchronized (this) {
            files = new ArrayList<>(known.values());
        }
        for (PooledFile file : files) {
            file.verifyUnchanged();
        }
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        for (OpenFile file : open.values()) {
            file.channel.close();
        }
        open.clear();
    }

    private static String shortName(Path path) {
        Path parent = path.getParent();
        return parent == null || parent.getFileName() == null
                ? path.getFileName().toString()
                : parent.getFileName() + "/" + path.getFileName();
    }

    private synchronized OpenFile acquire(Path path) throws IOException {
        if (closed) {
            throw new IllegalStateException("the checkpoint is closed");
        }
        OpenFile file = open.get(path);
        if (file == null) {
            evict();
            try {
                file = new OpenFile(FileChannel.open(path, StandardOpenOption.READ));
            } catch (NoSuchFileException e) {
                throw vanished(path).causedBy(e);
            }
            open.put(path, file);
        }
        file.users++;
        return file;
    }

    private synchronized void release(OpenFile file) {
        file.users--;
    }

    private void evict() throws IOException {
        var files = open.values().iterator();
        while (open.size() >= MAX_OPEN && files.hasNext()) {
            OpenFile file = files.next();
            if (file.users == 0) {
                file.channel.close();
                files.remove();
            }
        }
    }

    private static CheckpointException vanished(Path path) {
        return CheckpointException.of(
                        CheckpointException.Kind.ENVIRONMENT,
                        path.toString(),
                        "the file vanished while it was being read")
                .withHint("check whether a training run removes old checkpoints, and work on a copy");
    }

    private static final class OpenFile {
        private final FileChannel channel;
        private int users;

        private OpenFile(FileChannel channel) {
            this.channel = channel;
        }
    }

    private final class PooledFile implements ByteSource {
        private final Path path;
        private final String name;
        private final long size;
        private final FileTime changed;

        private PooledFile(Path path, String name, long size, FileTime changed) {
            this.path = path;
            this.name = name;
            this.size = size;
            this.changed = changed;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public Optional<FileRange> inFile() {
            return Optional.of(new FileRange(path, 0, size));
        }

        @Override
        public void read(long position, ByteBuffer target) throws IOException {
            if (position < 0 || position > size || target.remaining() > size - position) {
                throw CheckpointException.truncated(
                        name, position, "needs " + target.remaining() + " bytes, but the file ends at byte " + size);
            }
            OpenFile file = acquire(path);
            try {
                long at = position;
                while (target.hasRemaining()) {
                    int count = file.channel.read(target, at);
                    if (count < 0) {
                        throw CheckpointException.of(
                                        CheckpointException.Kind.ENVIRONMENT,
                                        name + " at byte " + at,
                                        "the file was " + size + " bytes long when it was opened and is shorter now")
                                .withHint("nothing may write to the source while it is read");
                    }
                    at += count;
                }
            } finally {
                release(file);
            }
        }

        private void verifyUnchanged() throws IOException {
            BasicFileAttributes now;
            try {
                now = Files.readAttributes(path, BasicFileAttributes.class);
            } catch (NoSuchFileException e) {
                throw vanished(path).causedBy(e);
            }
            if (now.size() != size || !now.lastModifiedTime().equals(changed)) {
                throw CheckpointException.of(
                                CheckpointException.Kind.ENVIRONMENT,
                                path.toString(),
                                "the file changed while it was being read")
                        .withHint("nothing may write to the source while it is read; run again when training is done");
            }
        }
    }
}
