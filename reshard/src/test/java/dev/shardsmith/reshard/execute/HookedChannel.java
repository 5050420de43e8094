package dev.shardsmith.reshard.execute;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file that lets a test in before each write. */
final class HookedChannel extends FileChannel {
    private final FileChannel file;
    private final BeforeWrite hook;

    /** Called before each write; may throw in its place. */
    @FunctionalInterface
    interface BeforeWrite {
        void write(int bytes) throws IOException;
    }

    private HookedChannel(FileChannel file, BeforeWrite hook) {
        this.file = file;
        this.hook = hook;
    }

    static TargetFiles.ChannelOpener opener(BeforeWrite hook) {
        return (Path path) ->
                new HookedChannel(FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE), hook);
    }

    @Override
    public int write(ByteBuffer bytes, long position) throws IOException {
        hook.write(bytes.remaining());
        // As a disk that is nearly full does, take only a part.
        ByteBuffer part = bytes.duplicate().limit(bytes.position() + (bytes.remaining() + 1) / 2);
        int written = file.write(part, position);
        bytes.position(bytes.position() + written);
        return written;
    }

    @Override
    public void force(boolean metaData) throws IOException {
        file.force(metaData);
    }

    @Override
    protected void implCloseChannel() throws IOException {
        file.close();
    }

    @Override
    public int read(ByteBuffer target) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int write(ByteBuffer source) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long position() {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel position(long newPosition) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long size() {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel truncate(long size) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int read(ByteBuffer target, long position) {
        throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
        throw new UnsupportedOperationException();
    }
}
