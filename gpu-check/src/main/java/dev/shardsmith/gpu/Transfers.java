package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.StoredElements;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Copies between the heap and a card through two pinned buffers: one is filled while the card reads the other.
 *
 * <p>Copies to the card run beside the kernels. They wait only for those that may still use the memory that an earlier
 * array gave back, so the weights of the next layer arrive while this one computes. One object serves one thread.
 */
final class Transfers {
    /** Large enough for the full rate of the bus, small enough to be pinned anywhere. */
    static final int BUFFER_BYTES = 8 << 20;

    private final Driver driver;
    private final Lane[] lanes;
    /** Marks the end of the kernels whose results are copied back. */
    private final Driver.Handle computed;

    /** A pinned buffer and the stream that empties or fills it. */
    private record Lane(Driver.Pinned pinned, Driver.Handle stream) {}

    Transfers(Driver driver) throws CheckpointException {
        this.driver = driver;
        this.lanes = new Lane[] {lane(driver), lane(driver)};
        this.computed = driver.createEvent();
    }

    private static Lane lane(Driver driver) throws CheckpointException {
        return new Lane(driver.allocatePinned(BUFFER_BYTES), driver.createStream(false));
    }

    /** Puts elements [from, from + count) at the front of a buffer. */
    private interface Source<E extends Exception> {
        void put(ByteBuffer buffer, int from, int count) throws E;
    }

    /** Copies an array of numbers to the card; when this returns, kernels may use it. */
    void in(float[] values, GpuArray to) throws CheckpointException {
        this.<CheckpointException>in(
                (buffer, from, count) -> buffer.asFloatBuffer().put(values, from, count),
                values.length,
                Float.BYTES,
                to);
    }

    /** The same in double precision. */
    void in(double[] values, GpuArray to) throws CheckpointException {
        this.<CheckpointException>in(
                (buffer, from, count) -> buffer.asDoubleBuffer().put(values, from, count),
                values.length,
                Double.BYTES,
                to);
    }

    /** Copies integers to the card; when this returns, kernels may use them. */
    void in(int[] values, GpuArray to) throws CheckpointException {
        this.<CheckpointException>in(
                (buffer, from, count) -> buffer.asIntBuffer().put(values, from, count),
                values.length,
                Integer.BYTES,
                to);
    }

    /** Reads a weight's bytes from its files straight into the buffers; when this returns, kernels may use them. */
    void in(StoredElements weight, int width, GpuArray to) throws IOException {
        this.<IOException>in(
                (buffer, from, count) -> weight.bytes(from, buffer.limit(count * width)), weight.elements(), width, to);
    }

    private <E extends Exception> void in(Source<E> source, int length, int width, GpuArray to)
            throws E, CheckpointException {
        DeviceMemory.Block block = to.block();
        int step = BUFFER_BYTES / width;
        for (int from = 0, turn = 0; from < length; from += step, turn ^= 1) {
            Lane lane = lanes[turn];
            int count = Math.min(step, length - from);
            driver.synchronize(lane.stream());
            source.put(buffer(lane), from, count);
            driver.await(lane.stream(), block.released());
            driver.copyIn(block.address(), (long) from * width, lane.pinned(), count * width, lane.stream());
        }
        for (Lane lane : lanes) {
            driver.synchronize(lane.stream());
        }
    }

    /** Copies numbers back, after everything that was asked of the card before. */
    float[] out(GpuArray from, int offset, int length) throws CheckpointException {
        float[] values = new float[length];
        out(from, offset, values, 0, length);
        return values;
    }

    /** Copies {@code length} numbers from {@code offset} of an array to {@code at} of another. */
    void out(GpuArray from, long offset, float[] values, int at, int length) throws CheckpointException {
        out(
                from,
                offset,
                length,
                Float.BYTES,
                (buffer, done, count) -> buffer.asFloatBuffer().get(values, at + done, count));
    }

    /** Copies an array in double precision back, after everything that was asked of the card before. */
    double[] outWide(GpuArray from) throws CheckpointException {
        double[] values = new double[Math.toIntExact(from.length())];
        out(
                from,
                0,
                values.length,
                Double.BYTES,
                (buffer, done, count) -> buffer.asDoubleBuffer().get(values, done, count));
        return values;
    }

    /** Takes elements [done, done + count) from the front of a buffer. */
    private interface Sink {
        void take(ByteBuffer buffer, int done, int count);
    }

    private void out(GpuArray from, long offset, int length, int width, Sink sink) throws CheckpointException {
        // Not the whole card: weights may be on their way to it.
        driver.record(computed, Driver.DEFAULT_STREAM);
        for (Lane lane : lanes) {
            driver.await(lane.stream(), computed);
        }
        int step = BUFFER_BYTES / width;
        int asked = Math.min(step, length);
        start(from, offset, asked, width, lanes[0]);
        for (int done = 0, turn = 0; done < length; turn ^= 1) {
            int count = Math.min(step, length - done);
            int ahead = Math.min(step, length - asked);
            if (ahead > 0) {
                start(from, offset + asked, ahead, width, lanes[turn ^ 1]);
            }
            driver.synchronize(lanes[turn].stream());
            sink.take(buffer(lanes[turn]), done, count);
            done += count;
            asked += ahead;
        }
    }

    private void start(GpuArray from, long first, int count, int width, Lane lane) throws CheckpointException {
        driver.copyOut(lane.pinned(), from.address(), first * width, count * width, lane.stream());
    }

    private static ByteBuffer buffer(Lane lane) {
        ByteBuffer bytes = lane.pinned().bytes();
        return bytes.duplicate().order(bytes.order()).clear();
    }

    void close() throws CheckpointException {
        for (Lane lane : lanes) {
            driver.synchronize(lane.stream());
            driver.destroyStream(lane.stream());
            driver.freePinned(lane.pinned());
        }
        driver.destroyEvent(computed);
    }
}
