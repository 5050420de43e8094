package dev.shardsmith.verify.forward;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Scratch space for as many threads as use it at once, kept for the next use. */
final class ScratchPool<S> {
    private final ConcurrentLinkedQueue<S> idle = new ConcurrentLinkedQueue<>();
    private final Supplier<S> maker;

    ScratchPool(Supplier<S> maker) {
        this.maker = maker;
    }

    /** Does something with space that nobody else uses meanwhile. */
    void use(Consumer<S> task) {
        S taken = idle.poll();
        S scratch = taken == null ? maker.get() : taken;
        try {
            task.accept(scratch);
        } finally {
            idle.add(scratch);
        }
    }

    /** Forgets what is idle. */
    void clear() {
        idle.clear();
    }
}
