package dev.shardsmith.gpu;

import dev.shardsmith.verify.forward.DeviceArray;

/**
 * Elements on a card.
 *
 * <p>Closing gives the memory back to its {@link DeviceMemory}, which hands it to later arrays of the same size; kernels
 * already started still find it as it was, because everything on the card runs in order.
 */
final class GpuArray implements DeviceArray {
    private final DeviceMemory owner;
    private final long length;
    private DeviceMemory.Block block;

    GpuArray(DeviceMemory owner, DeviceMemory.Block block, long length) {
        this.owner = owner;
        this.block = block;
        this.length = length;
    }

    @Override
    public long length() {
        return length;
    }

    /** Where it lies. */
    long address() {
        return block().address();
    }

    DeviceMemory.Block block() {
        if (block == null) {
            throw new IllegalStateException("this array was closed");
        }
        return block;
    }

    DeviceMemory owner() {
        return owner;
    }

    @Override
    public void close() {
        if (block != null) {
            DeviceMemory.Block released = block;
            block = null;
            owner.release(released);
        }
    }
}
