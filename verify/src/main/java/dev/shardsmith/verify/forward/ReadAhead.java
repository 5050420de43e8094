package dev.shardsmith.verify.forward;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * Reads the weights of the next layer of both checkpoints while the present one computes.
 *
 * <p>One thread for each checkpoint goes through the layers in order and is at most one layer ahead. What it reads lies on
 * the device, as much as {@link ForwardBackend#spareElements} allows; the rest is read when it is needed. On a backend that
 * has nothing to spare no thread is started.
 */
public final class ReadAhead implements AutoCloseable {
    private static final int LAYERS_HELD = 2;

    /**
     * What is computed at once.
     *
     * @param label which layer, for the timeline
     * @param sides the weights of each checkpoint in the order of their use
     */
    public record Step(String label, List<List<WeightSource>> sides) {}

    private final Deque<LayerReading> layers = new ArrayDeque<>();
    private final List<Thread> threads = new ArrayList<>();
    private final List<Semaphore> rooms = new ArrayList<>();
    private volatile boolean stopped;

    /** Begins to read. */
    public ReadAhead(ForwardBackend backend, List<Step> steps, Timeline timeline) {
        List<LayerReading> all = steps.stream()
                .map(step -> new LayerReading(backend, step, timeline))
                .toList();
        layers.addAll(all);
        if (steps.isEmpty() || backend.spareElements() == 0) {
            all.forEach(LayerReading::nothingAhead);
            return;
        }
        for (int side = 0; side < steps.get(0).sides().size(); side++) {
            Semaphore room = new Semaphore(LAYERS_HELD);
            rooms.add(room);
            int reading = side;
            Deque<LayerReading> own = new ArrayDeque<>(all);
            Thread thread = new Thread(() -> read(own, reading, room), "read-ahead-" + side);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    /** Takes the layers out one by one, so that those that are done can be forgotten. */
    private void read(Deque<LayerReading> all, int side, Semaphore room) {
        while (!all.isEmpty()) {
            room.acquireUninterruptibly();
            all.remove().readAhead(side, () -> stopped);
        }
    }

    /** The weights of the next layer; closing it lets the reading go on. */
    public LayerReading next() {
        LayerReading layer = layers.remove();
        layer.begin(() -> rooms.forEach(Semaphore::release));
        return layer;
    }

    /** Stops reading; what nobody asked for is dropped. */
    @Override
    public void close() {
        stopped = true;
        // Enough for every layer that is left: the threads run to their ends without reading.
        rooms.forEach(room -> room.release(layers.size() + LAYERS_HELD));
        for (Thread thread : threads) {
            boolean interrupted = false;
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        layers.forEach(LayerReading::drop);
        layers.clear();
    }
}
