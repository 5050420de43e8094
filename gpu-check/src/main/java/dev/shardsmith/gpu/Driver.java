package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * What is asked of the CUDA driver, and nothing more.
 *
 * <p>Device memory is a plain address, 0 for none; everything else the driver hands out is an opaque {@link Handle}.
 * Kernels of one stream run in the order of their launches.
 *
 * <p>Every method throws a {@link CheckpointException} of kind ENVIRONMENT that names the call, the code and its meaning.
 */
interface Driver {

    /** Something that the driver handed out. */
    record Handle(Object value) {}

    /** The context's own stream. */
    Handle DEFAULT_STREAM = new Handle(null);

    /**
     * One card.
     *
     * @param ordinal its number
     * @param name as the driver calls it
     * @param major compute capability
     * @param minor compute capability
     * @param multiprocessors how many
     * @param sharedBytes shared memory that one block may ask for
     * @param memory bytes of device memory
     */
    record Card(int ordinal, String name, int major, int minor, int multiprocessors, int sharedBytes, long memory) {}

    /** Host memory that the card can read by itself. */
    record Pinned(Handle handle, ByteBuffer bytes) {}

    /** How many blocks a launch has. */
    record Grid(int x, int y, int z) {
        /** The driver's limit on y and z; x may be as large as an int. */
        static final int LIMIT = 65_535;
    }

    /** The newest CUDA version that the driver serves: 13000 for 13.0. */
    int version() throws CheckpointException;

    int cards() throws CheckpointException;

    Card card(int ordinal) throws CheckpointException;

    /** Takes part in the card's one shared context. */
    Handle retainContext(int ordinal) throws CheckpointException;

    void releaseContext(int ordinal) throws CheckpointException;

    /** Makes the calls of this thread that follow go to a context. */
    void enter(Handle context) throws CheckpointException;

    Handle loadModule(byte[] image) throws CheckpointException;

    Handle function(Handle module, String name) throws CheckpointException;

    /** Lets launches of a function ask for this much shared memory. */
    void allowShared(Handle function, int bytes) throws CheckpointException;

    /** Bytes that are free on the card now. */
    long freeMemory() throws CheckpointException;

    /** Device memory, or 0 if there is not enough left. */
    long allocate(long bytes) throws CheckpointException;

    void free(long memory) throws CheckpointException;

    Pinned allocatePinned(int bytes) throws CheckpointException;

    void freePinned(Pinned pinned) throws CheckpointException;

    /** A stream that does not wait for the default one; an urgent one gets free multiprocessors before all others. */
    Handle createStream(boolean urgent) throws CheckpointException;

    void destroyStream(Handle stream) throws CheckpointException;

    void synchronize(Handle stream) throws CheckpointException;

    /** Waits for everything that the card was asked to do. */
    void synchronize() throws CheckpointException;

    /** Starts copying the first {@code bytes} of a pinned buffer to {@code offset} bytes into an allocation. */
    void copyIn(long memory, long offset, Pinned from, int bytes, Handle stream) throws CheckpointException;

    /** Starts copying to the front of a pinned buffer. */
    void copyOut(Pinned to, long memory, long offset, int bytes, Handle stream) throws CheckpointException;

    /** Starts a kernel. */
    void launch(Handle function, Grid grid, int block, int sharedBytes, List<Argument> arguments, Handle stream)
            throws CheckpointException;

    Handle createEvent() throws CheckpointException;

    void destroyEvent(Handle event) throws CheckpointException;

    /** Marks this place in a stream. */
    void record(Handle event, Handle stream) throws CheckpointException;

    /** Makes a stream wait for a mark. */
    void await(Handle stream, Handle event) throws CheckpointException;

    /** Milliseconds between two marks, once both have been reached. */
    double milliseconds(Handle from, Handle to) throws CheckpointException;
}
