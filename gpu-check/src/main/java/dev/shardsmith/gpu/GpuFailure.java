package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;

/**
 * A card or its driver failed in the middle of a computation.
 *
 * <p>{@link #getCause()} is the {@link CheckpointException} that names the driver's call, its code and its meaning.
 */
public final class GpuFailure extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** The failure of a driver's call. */
    public GpuFailure(CheckpointException cause) {
        super(cause.getMessage(), cause);
    }

    @Override
    public synchronized CheckpointException getCause() {
        return (CheckpointException) super.getCause();
    }
}
