package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.StoredTensor;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Reads a strided view of a file into a buffer of another layout, in stretches as long as the staging buffer allows. */
final class StridedReader {
    /** Reading over a gap of this many bytes is cheaper than another system call. */
    private static final long GAP_WORTH_READING = 16 << 10;

    private final Buffers buffers;
    private final CheckedStretch stretch;
    private long bytesRead;

    StridedReader(Buffers buffers, SourceChecks checks) {
        this.buffers = buffers;
        this.stretch = new CheckedStretch(checks);
    }

    /** Bytes read from files so far, gaps included. */
    long bytesRead() {
        return bytesRead;
    }

    /**
     * Reads every element of {@code view} to {@code near}, where the strides are {@code nearStrides} elements, and adds the
     * checksums of what it reads of a source that is checked to {@code result}.
     */
    void read(StoredTensor view, ByteBuffer near, int nearAt, long[] nearStrides, WorkResult result)
            throws IOException {
        stretch.begin(view.source(), result);
        move(view, near, nearAt, nearStrides);
        stretch.end();
    }

    private void move(StoredTensor view, ByteBuffer near, int nearAt, long[] nearStrides) throws IOException {
        StridedLoop loop = StridedLoop.of(
                view.shape().toArray(),
                view.strides(),
                nearStrides,
                view.dtype().byteSize());
        int direct = Math.max(loop.farContiguousFrom(), loop.nearContiguousFrom());
        int dense = denseFrom(loop);
        if (direct <= dense) {
            readDirect(view.source(), loop, 0, direct, view.offset(), near, nearAt);
        } else {
            readStaged(view.source(), loop, 0, dense, view.offset(), near, nearAt);
        }
    }

    /** The outermost loop whose iterations are read together, gaps and all. */
    private int denseFrom(StridedLoop loop) {
        int dense = loop.depth();
        while (dense > 0
                && loop.far(dense - 1) - loop.farSpan(dense) <= GAP_WORTH_READING
                && loop.farSpan(dense - 1) <= buffers.capacity()) {
            dense--;
        }
        return dense;
    }

    private void readDirect(
            ByteSource source, StridedLoop loop, int at, int direct, long far, ByteBuffer near, int nearAt)
            throws IOException {
        if (at == direct) {
            fill(source, far, near, nearAt, (int) loop.farSpan(direct));
            return;
        }
        for (long i = 0; i < loop.size(at); i++) {
            readDirect(source, loop, at + 1, direct, far + i * loop.far(at), near, (int) (nearAt + i * loop.near(at)));
        }
    }

    private void readStaged(
            ByteSource source, StridedLoop loop, int at, int dense, long far, ByteBuffer near, int nearAt)
            throws IOException {
        if (at == dense) {
            fill(source, far, buffers.staging(), 0, (int) loop.farSpan(dense));
            loop.gather(dense, dense < loop.depth() ? loop.size(dense) : 1, buffers.staging(), 0, near, nearAt);
            return;
        }
        long step = at == dense - 1 ? together(loop, at) : 1;
        for (long i = 0; i < loop.size(at); i += step) {
            long count = Math.min(step, loop.size(at) - i);
            long from = far + i * loop.far(at);
            int to = (int) (nearAt + i * loop.near(at));
            if (count == 1) {
                readStaged(source, loop, at + 1, dense, from, near, to);
            } else {
                fill(source, from, buffers.staging(), 0, (int) ((count - 1) * loop.far(at) + loop.farSpan(dense)));
                loop.gather(at, count, buffers.staging(), 0, near, to);
            }
        }
    }

    /** How many iterations of the loop that does not fit as a whole are read together. */
    private long together(StridedLoop loop, int at) {
        long inner = loop.farSpan(at + 1);
        return loop.far(at) - inner > GAP_WORTH_READING || loop.far(at) == 0
                ? 1
                : Math.max(1, 1 + (buffers.capacity() - inner) / loop.far(at));
    }

    private void fill(ByteSource source, long position, ByteBuffer target, int at, int length) throws IOException {
        source.read(position, target.duplicate().position(at).limit(at + length));
        bytesRead += length;
        stretch.add(position, target.duplicate().position(at).limit(at + length));
    }
}
