package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.StoredTensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/** Writes a band to strided views of slots, in stretches that are contiguous in the file, and adds up their checksums. */
final class StridedWriter {
    private final Buffers buffers;
    private final BandSink sink;
    private final CRC32 crc = new CRC32();

    StridedWriter(Buffers buffers, BandSink sink) {
        this.buffers = buffers;
        this.sink = sink;
    }

    /** Writes every element of {@code view}, taken from {@code near} where the strides are {@code nearStrides} elements. */
    void write(
            StoredTensor view,
            SlotTable.SlotPlace slot,
            ByteBuffer near,
            int nearAt,
            long[] nearStrides,
            WorkResult result)
            throws IOException {
        StridedLoop loop = StridedLoop.of(
                view.shape().toArray(),
                view.strides(),
                nearStrides,
                view.dtype().byteSize());
        int contiguous = loop.farContiguousFrom();
        int direct = Math.max(contiguous, loop.nearContiguousFrom());
        new Stretches(loop, contiguous, direct <= contiguous, slot, near, result).write(0, view.offset(), nearAt);
    }

    private final class Stretches {
        private final StridedLoop loop;
        private final int contiguous;
        private final boolean direct;
        private final SlotTable.SlotPlace slot;
        private final ByteBuffer near;
        private final WorkResult result;

        private Stretches(
                StridedLoop loop,
                int contiguous,
                boolean direct,
                SlotTable.SlotPlace slot,
                ByteBuffer near,
                WorkResult result) {
            this.loop = loop;
            this.contiguous = contiguous;
            this.direct = direct;
            this.slot = slot;
            this.near = near;
            this.result = result;
        }

        private void write(int at, long far, int nearAt) throws IOException {
            if (at < contiguous) {
                for (long i = 0; i < loop.size(at); i++) {
                    write(at + 1, far + i * loop.far(at), (int) (nearAt + i * loop.near(at)));
                }
                return;
            }
            int length = (int) loop.farSpan(contiguous);
            if (direct) {
                put(far, near, nearAt, length);
            } else {
                ByteBuffer staging = buffers.staging();
                loop.scatter(at, at < loop.depth() ? loop.size(at) : 1, near, nearAt, staging, 0);
                put(far, staging, 0, length);
            }
        }

        private void put(long position, ByteBuffer from, int at, int length) throws IOException {
            ByteBuffer stretch = from.duplicate().position(at).limit(at + length);
            crc.reset();
            crc.update(stretch);
            result.addStretch(slot.id(), slot.length() - position - length, (int) crc.getValue());
            sink.put(slot, position, stretch.position(at));
        }
    }
}
