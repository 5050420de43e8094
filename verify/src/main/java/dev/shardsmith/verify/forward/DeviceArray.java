package dev.shardsmith.verify.forward;

/**
 * Numbers that lie where a {@link ForwardBackend} computes.
 *
 * <p>Logically float, row-major. It belongs to the backend that made it; closing it gives its memory back.
 */
public interface DeviceArray extends AutoCloseable {

    /** Elements. */
    long length();

    /** Whether it lies in the heap and goes when nobody holds it any more; closing it does nothing then. */
    default boolean isOnHeap() {
        return false;
    }

    @Override
    void close();
}
