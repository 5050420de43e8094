package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.StoredTensor;
import java.io.IOException;

/** A box of a tensor that lies in one place. */
public final class DcpChunk {
    private final DcpCheckpoint checkpoint;
    private final int entry;
    private final int row;

    DcpChunk(DcpCheckpoint checkpoint, int entry, int row) {
        this.checkpoint = checkpoint;
        this.entry = entry;
        this.row = row;
    }

    /** Where the box begins in the tensor, one number per dimension. */
    public long[] offsets() {
        return checkpoint.metadata().offsets(entry, row);
    }

    /** Sizes of the box, one per dimension. */
    public long[] sizes() {
        return checkpoint.metadata().sizes(entry, row);
    }

    /** True if the box has no elements. */
    public boolean isEmpty() {
        for (long size : sizes()) {
            if (size == 0) {
                return true;
            }
        }
        return false;
    }

    /** Where the chunk's item lies in the data files. */
    public DcpPlace place() throws CheckpointException {
        return checkpoint.place(entry, row);
    }

    /**
     * The stored tensor, of exactly the box's sizes; opens the item but reads no element.
     *
     * @throws CheckpointException if the item is missing, damaged, or of another shape
     */
    public StoredTensor open() throws IOException {
        return checkpoint.tensorAt(entry, row);
    }
}
