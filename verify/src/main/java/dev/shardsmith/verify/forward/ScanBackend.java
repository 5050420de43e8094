package dev.shardsmith.verify.forward;

/**
 * Something that can run the state-space scan.
 *
 * <p>Implementations are found with {@link java.util.ServiceLoader}, so their constructor must be public, take nothing
 * and do nothing slow: drivers are loaded by {@link #availability()} at the earliest, and a machine without them gets an
 * answer, not an exception.
 */
public interface ScanBackend {

    /** A short name, as given to {@code --device}: {@code cpu}, {@code cuda}. */
    String name();

    /** Whether it can run here. Never throws. */
    Availability availability();

    /**
     * Runs a scan.
     *
     * @throws IllegalStateException if the backend is not usable or its device failed
     */
    ScanResult scan(ScanProblem problem);
}
