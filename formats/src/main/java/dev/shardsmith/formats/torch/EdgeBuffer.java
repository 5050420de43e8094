package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/** The same source with its first and last bytes in memory: what an archive has beside its data lies there. */
final class EdgeBuffer implements ByteSource {
    private static final int EDGE = 4096;

    private final ByteSource source;
    private final byte[] head;
    private final byte[] tail;

    private EdgeBuffer(ByteSource source, byte[] head, byte[] tail) {
        this.source = source;
        this.head = head;
        this.tail = tail;
    }

    /** The first and last few KiB of a source, read at once; all of a small one. */
    static EdgeBuffer of(ByteSource source) throws IOException {
        int head = (int) Math.min(source.size(), source.size() <= 4L * EDGE ? 4L * EDGE : EDGE);
        int tail = (int) Math.min(source.size() - head, EDGE);
        return new EdgeBuffer(source, source.readBytes(0, head), source.readBytes(source.size() - tail, tail));
    }

    @Override
    public String name() {
        return source.name();
    }

    @Override
    public long size() {
        return source.size();
    }

    @Override
    public void read(long position, ByteBuffer target) throws IOException {
        long end = position + target.remaining();
        long tailStart = source.size() - tail.length;
        if (position >= 0 && end >= position && end <= head.length) {
            target.put(head, (int) position, target.remaining());
        } else if (position >= tailStart && end >= position && end <= source.size()) {
            target.put(tail, (int) (position - tailStart), target.remaining());
        } else {
            source.read(position, target);
        }
    }

    @Override
    public Optional<FileRange> inFile() {
        return source.inFile();
    }
}
