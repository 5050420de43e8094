package dev.shardsmith.verify.forward;

import java.util.Optional;

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

    /**
     * The same kind of backend on another of its devices: {@code cuda:1} is number 1 of {@code cuda}. Without numbered
     * devices there is only number 0.
     */
    default Optional<ScanBackend> onDevice(int number) {
        return number == 0 ? Optional.of(this) : Optional.empty();
    }

    /** Whether it can run here. Never throws. */
    Availability availability();

    /**
     * Runs a scan.
     *
     * @throws IllegalStateException if the backend is not usable or its device failed
     */
    ScanResult scan(ScanProblem problem);
}
