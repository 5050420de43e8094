package dev.shardsmith.verify.forward;

/**
 * Numbers that lie where a {@link ForwardBackend} computes.
 *
 * <p>Logically float, row-major. It belongs to the backend that made it; closing it gives its memory back.
 */
public interface DeviceArray extends AutoCloseable {

    /** Elements. */
    long length();

    @Override
    void close();
}
