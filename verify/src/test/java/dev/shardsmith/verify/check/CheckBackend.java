package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Backends;
import dev.shardsmith.verify.forward.ForwardBackend;

/**
 * The backend that the checks of this package run on: the processor, or what {@code -Dshardsmith.device} names, so that a
 * machine with a card runs the same checks on the card.
 */
final class CheckBackend {
    private static final ForwardBackend BACKEND = Backends.layers(System.getProperty("shardsmith.device", "cpu"));

    private CheckBackend() {}

    /** One for all checks; it is never closed. */
    static ForwardBackend get() {
        return BACKEND;
    }
}
