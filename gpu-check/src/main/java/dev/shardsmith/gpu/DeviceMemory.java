package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Hands out device memory and keeps what comes back for the next array of that size: the driver's own free waits for the
 * whole card, which would put an end to reading ahead.
 */
final class DeviceMemory {
    private static final long GRAIN = 512;
    /** Left to the driver and to others on the card. */
    private static final long RESERVE = 256L << 20;

    /**
     * Memory on the card.
     *
     * @param address where
     * @param bytes how much
     * @param released marks when the kernels that may still use it are done, once it has been given back
     */
    record Block(long address, long bytes, Driver.Handle released) {}

    private final Driver driver;
    private final Map<Long, Deque<Block>> kept = new HashMap<>();
    private long keptBytes;

    DeviceMemory(Driver driver) {
        this.driver = driver;
    }

    /**
     * An array of {@code length} elements of {@code width} bytes; its contents are undefined.
     *
     * @throws CheckpointException of kind ENVIRONMENT if the card has not enough left
     */
    GpuArray array(long length, int width) throws CheckpointException {
        Optional<GpuArray> array = tryArray(length, width);
        if (array.isEmpty()) {
            throw CheckpointException.of(
                            CheckpointException.Kind.ENVIRONMENT,
                            "CUDA driver",
                            "cuMemAlloc failed with code 2 (CUDA_ERROR_OUT_OF_MEMORY): the card has no room for %d bytes"
                                            .formatted(bytes(length, width))
                                    + " more; %d are free".formatted(driver.freeMemory()))
                    .withHint("use a smaller --seq-len or --batch, another card, or --device cpu");
        }
        return array.get();
    }

    /** An array, or nothing if the card has not enough left. */
    synchronized Optional<GpuArray> tryArray(long length, int width) throws CheckpointException {
        long bytes = bytes(length, width);
        Deque<Block> same = kept.get(bytes);
        if (same != null && !same.isEmpty()) {
            Block block = same.pop();
            keptBytes -= block.bytes();
            return Optional.of(new GpuArray(this, block, length));
        }
        long address = driver.allocate(bytes);
        if (address == 0 && keptBytes > 0) {
            trim();
            address = driver.allocate(bytes);
        }
        return address == 0
                ? Optional.empty()
                : Optional.of(new GpuArray(this, new Block(address, bytes, driver.createEvent()), length));
    }

    private static long bytes(long length, int width) {
        return Math.max(GRAIN, (Math.multiplyExact(length, width) + GRAIN - 1) / GRAIN * GRAIN);
    }

    /** An array of floats. */
    GpuArray floats(long length) throws CheckpointException {
        return array(length, Float.BYTES);
    }

    /** An array of doubles. */
    GpuArray doubles(long length) throws CheckpointException {
        return array(length, Double.BYTES);
    }

    /** An array of floats, or nothing if the card has not enough left. */
    Optional<GpuArray> tryFloats(long length) throws CheckpointException {
        return tryArray(length, Float.BYTES);
    }

    /** Bytes that arrays can still have. */
    synchronized long available() throws CheckpointException {
        return Math.max(0, driver.freeMemory() + keptBytes - RESERVE);
    }

    synchronized void release(Block block) {
        try {
            driver.record(block.released(), Driver.DEFAULT_STREAM);
        } catch (CheckpointException e) {
            throw new GpuFailure(e);
        }
        keptBytes += block.bytes();
        kept.computeIfAbsent(block.bytes(), size -> new ArrayDeque<>()).push(block);
    }

    /** Gives all that is kept back to the driver. */
    synchronized void trim() throws CheckpointException {
        driver.synchronize();
        for (Deque<Block> blocks : kept.values()) {
            for (Block block : blocks) {
                driver.free(block.address());
                driver.destroyEvent(block.released());
            }
        }
        kept.clear();
        keptBytes = 0;
    }
}
