package dev.shardsmith.verify.forward;

/**
 * Whether a backend can be used on this machine.
 *
 * @param usable true if it can
 * @param detail the device if usable, else why not: one line for a person
 */
public record Availability(boolean usable, String detail) {

    /** Usable, on the device described. */
    public static Availability on(String device) {
        return new Availability(true, device);
    }

    /** Not usable, for the reason given. */
    public static Availability missing(String reason) {
        return new Availability(false, reason);
    }
}
