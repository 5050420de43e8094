package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.reshard.plan.Plan;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The files that are being written; keeps at most {@value #MAX_OPEN} of them open. */
final class TargetFiles implements BandSink, Closeable {
    private static final int MAX_OPEN = 256;

    private final ChannelOpener opener;
    private final List<Path> paths = new ArrayList<>();
    private final Map<Integer, OpenFile> open = new LinkedHashMap<>(16, 0.75f, true);
    private final BitSet dirty = new BitSet();

    /** Opens files; another one than the file system's is a test that lets writes fail. */
    @FunctionalInterface
    interface ChannelOpener {
        /** A channel that reads and writes an existing file. */
        FileChannel open(Path path) throws IOException;

        /** Opens files of the file system. */
        static ChannelOpener ofFileSystem() {
            return path -> FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        }
    }

    private static final class OpenFile {
        private final FileChannel channel;
        private int users;

        private OpenFile(FileChannel channel) {
            this.channel = channel;
        }
    }

    /** The plan's files under {@code output}; nothing is opened or made yet. */
    TargetFiles(Plan plan, Path output, ChannelOpener opener) throws CheckpointException {
        this.opener = opener;
        for (FileImage image : plan.files()) {
            paths.add(TargetPaths.resolve(output, image.path()));
        }
    }

    /** Path of a file. */
    Path path(int file) {
        return paths.get(file);
    }

    /** Makes the files that are not there yet, with their folders, and gives each its length. */
    void create(Plan plan) throws IOException {
        for (int file = 0; file < paths.size(); file++) {
            Path path = paths.get(file);
            try {
                Files.createDirectories(path.getParent());
                try (RandomAccessFile made = new RandomAccessFile(path.toFile(), "rw")) {
                    if (made.length() != plan.files().get(file).size()) {
                        made.setLength(plan.files().get(file).size());
                    }
                }
            } catch (IOException e) {
                throw EnvironmentFailure.of("make", path, e);
            }
        }
    }

    @Override
    public void put(SlotTable.SlotPlace slot, long position, ByteBuffer bytes) throws IOException {
        write(slot.file(), slot.offset() + position, bytes);
    }

    /** Writes bytes at a position of a file. */
    void write(int file, long position, ByteBuffer bytes) throws IOException {
        try {
            OpenFile target = acquire(file, true);
            try {
                long at = position;
                while (bytes.hasRemaining()) {
                    at += target.channel.write(bytes, at);
                }
            } finally {
                release(target);
            }
        } catch (IOException e) {
            throw EnvironmentFailure.of("write", paths.get(file), e);
        }
    }

    /** Brings everything written before this call to the disk. */
    void force() throws IOException {
        BitSet files;
        synchronized (this) {
            files = (BitSet) dirty.clone();
            dirty.clear();
        }
        for (int file = files.nextSetBit(0); file >= 0; file = files.nextSetBit(file + 1)) {
            try {
                OpenFile target = acquire(file, false);
                try {
                    target.channel.force(false);
                } finally {
                    release(target);
                }
            } catch (IOException e) {
                throw EnvironmentFailure.of("write", paths.get(file), e);
            }
        }
    }

    @Override
    public synchronized void close() throws IOException {
        for (OpenFile file : open.values()) {
            file.channel.close();
        }
        open.clear();
    }

    private synchronized OpenFile acquire(int file, boolean toWrite) throws IOException {
        OpenFile target = open.get(file);
        if (target == null) {
            evict();
            target = new OpenFile(opener.open(paths.get(file)));
            open.put(file, target);
        }
        target.users++;
        if (toWrite) {
            dirty.set(file);
        }
        return target;
    }

    private synchronized void release(OpenFile file) {
        file.users--;
    }

    /** A closed file is still brought to the disk later: forcing it through another descriptor forces the same file. */
    private void evict() throws IOException {
        Iterator<OpenFile> files = open.values().iterator();
        while (open.size() >= MAX_OPEN && files.hasNext()) {
            OpenFile file = files.next();
            if (file.users == 0) {
                file.channel.close();
                files.remove();
            }
        }
    }
}
