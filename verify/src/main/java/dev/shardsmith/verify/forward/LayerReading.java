package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;

/**
 * The weights of one layer of both checkpoints: those that were read ahead, and the others when they are asked for.
 *
 * <p>Weights are told apart by identity; a view of a weight that was made meanwhile is read when it is asked for.
 */
public final class LayerReading implements WeightReader, AutoCloseable {
    /** Weights of at most so many elements are kept on the heap, where most of them are used. */
    private static final int SMALL = 1 << 16;

    /**
     * What is there of a weight.
     *
     * @param numbers of a small weight, or null
     * @param array of a large one, or null
     */
    private record Held(float[] numbers, DeviceArray array) {
        static final Held NOTHING = new Held(null, null);

        void drop() {
            if (array != null) {
                array.close();
            }
        }
    }

    private final ForwardBackend backend;
    private final ReadAhead.Step step;
    private final Timeline timeline;
    private final Map<WeightSource, CompletableFuture<Held>> ahead = new IdentityHashMap<>();
    private final Map<WeightSource, Integer> sideOf = new IdentityHashMap<>();
    private Runnable whenClosed = () -> {};
    private long computingSince;

    LayerReading(ForwardBackend backend, ReadAhead.Step step, Timeline timeline) {
        this.backend = backend;
        this.step = step;
        this.timeline = timeline;
        for (int side = 0; side < step.sides().size(); side++) {
            for (WeightSource source : step.sides().get(side)) {
                ahead.put(source, new CompletableFuture<>());
                sideOf.put(source, side);
            }
        }
    }

    /** Nobody reads ahead. */
    void nothingAhead() {
        ahead.values().forEach(future -> future.complete(Held.NOTHING));
    }

    /** Reads the weights of one side, as far as there is room for them; runs on a thread of its own. */
    void readAhead(int side, BooleanSupplier stopped) {
        long room = stopped.getAsBoolean() ? 0 : backend.spareElements();
        for (WeightSource source : step.sides().get(side)) {
            CompletableFuture<Held> future = ahead.get(source);
            if (future.isDone()) {
                continue;
            }
            try {
                boolean fits = !stopped.getAsBoolean()
                        && (source.elements() <= SMALL || source.elements() <= room && isPlain(source));
                Held held = fits ? read(source, side) : Held.NOTHING;
                room -= held.array() == null ? 0 : source.elements();
                if (!future.complete(held)) {
                    held.drop();
                }
            } catch (IOException | RuntimeException e) {
                // Told to whoever asks for this weight.
                future.completeExceptionally(e);
            }
        }
    }

    /** Whether a weight need not be decoded: those that must be are read in parts, when they are needed. */
    private static boolean isPlain(WeightSource source) throws IOException {
        Optional<StoredElements> stored = source.stored();
        return stored.isEmpty() || stored.get().plain().isPresent();
    }

    private Held read(WeightSource source, int side) throws IOException {
        return source.elements() <= SMALL ? new Held(numbers(source, side), null) : new Held(null, array(source, side));
    }

    private float[] numbers(WeightSource source, int side) throws IOException {
        Optional<StoredElements> stored = source.stored();
        if (stored.isPresent()) {
            return stored.get().observed(observer(side)).load();
        }
        long start = System.nanoTime();
        float[] numbers = source.load();
        timeline.add(Timeline.Activity.READ, side, step.label(), start, System.nanoTime(), 4L * numbers.length);
        return numbers;
    }

    private DeviceArray array(WeightSource source, int side) throws IOException {
        Optional<StoredElements> stored = source.stored();
        if (stored.isPresent()) {
            Copying copying = new Copying(side);
            Optional<DeviceArray> array = backend.upload(stored.get().observed(copying));
            copying.until(System.nanoTime());
            if (array.isPresent()) {
                return array.get();
            }
        }
        float[] numbers = numbers(source, side);
        long start = System.nanoTime();
        DeviceArray array = backend.upload(numbers);
        timeline.add(Timeline.Activity.COPY, side, step.label(), start, System.nanoTime(), 0);
        return array;
    }

    private StoredElements.Observer observer(int side) {
        return (from, to, bytes) -> timeline.add(Timeline.Activity.READ, side, step.label(), from, to, bytes);
    }

    /** What lies between two readings of one weight is copying. */
    private final class Copying implements StoredElements.Observer {
        private final int side;
        private long since = System.nanoTime();

        Copying(int side) {
            this.side = side;
        }

        @Override
        public void read(long from, long to, long bytes) {
            until(from);
            timeline.add(Timeline.Activity.READ, side, step.label(), from, to, bytes);
            since = to;
        }

        void until(long time) {
            timeline.add(Timeline.Activity.COPY, side, step.label(), since, time, 0);
        }
    }

    /** The layer begins to compute. */
    void begin(Runnable afterwards) {
        whenClosed = afterwards;
        computingSince = System.nanoTime();
    }

    private void pause() {
        timeline.add(Timeline.Activity.COMPUTE, 0, step.label(), computingSince, System.nanoTime(), 0);
    }

    /** Waits for what was read ahead of a weight. */
    private Held held(WeightSource source) throws IOException {
        CompletableFuture<Held> future = ahead.get(source);
        if (future == null) {
            return Held.NOTHING;
        }
        boolean waits = !future.isDone();
        if (waits) {
            pause();
        }
        try {
            return future.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof IOException unreadable) {
                throw unreadable;
            }
            throw e.getCause() instanceof RuntimeException failure ? failure : e;
        } finally {
            if (waits) {
                computingSince = System.nanoTime();
            }
        }
    }

    private int side(WeightSource source) {
        return sideOf.getOrDefault(source, 0);
    }

    @Override
    public float[] load(WeightSource source) throws IOException {
        Held held = held(source);
        if (held.numbers() != null) {
            return held.numbers();
        }
        pause();
        float[] numbers = numbers(source, side(source));
        computingSince = System.nanoTime();
        return numbers;
    }

    @Override
    public DeviceArray upload(WeightSource source) throws IOException {
        Held held = held(source);
        if (held.numbers() != null) {
            return backend.upload(held.numbers());
        }
        pause();
        DeviceArray array = array(source, side(source));
        computingSince = System.nanoTime();
        return array;
    }

    @Override
    public Optional<DeviceArray> kept(WeightSource source) throws IOException {
        return Optional.ofNullable(held(source).array());
    }

    /** The layer is done: what was read for it is dropped. */
    @Override
    public void close() {
        pause();
        drop();
        whenClosed.run();
    }

    /** Gives the arrays back; what is not read yet need not be read any more. */
    void drop() {
        for (CompletableFuture<Held> future : ahead.values()) {
            if (!future.complete(Held.NOTHING)) {
                future.thenAccept(Held::drop);
            }
        }
    }
}
