package dev.shardsmith.reshard.execute;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntPredicate;

/** Lets several threads move the units of a range. */
final class Workers {
    private final WorkUnits units;
    private final PlanContext context;
    private final AtomicLong bytesRead = new AtomicLong();
    private final Object progressLock = new Object();
    private long bytesDone;

    /** Told about each finished unit, by the worker that did it. */
    @FunctionalInterface
    interface Finished {
        void unit(int unit, long bytes, WorkResult result) throws IOException;
    }

    /**
     * What all workers share.
     *
     * @param bufferBytes size of each buffer
     * @param checks the sources whose checksums are added up
     * @param sink where bands go
     * @param fillRows makes up padding
     * @param options the options of the run
     */
    record PlanContext(
            int bufferBytes, SourceChecks checks, BandSink sink, FillRows fillRows, ExecutionOptions options) {}

    /** Workers that begin with {@code bytesDone} bytes done already, for the progress. */
    Workers(WorkUnits units, PlanContext context, long bytesDone) {
        this.units = units;
        this.context = context;
        this.bytesDone = bytesDone;
    }

    /** Bytes read from the sources. */
    long bytesRead() {
        return bytesRead.get();
    }

    /**
     * Moves the units from {@code first} to before {@code end} for which {@code done} is false, and returns when all are
     * moved, or one has failed and the other workers have stopped.
     */
    void run(int first, int end, IntPredicate done, long bytesTotal, Finished finished) throws IOException {
        Shared shared = new Shared(new AtomicInteger(first), end, done, bytesTotal, finished, new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        int helpers = Math.min(context.options().workers(), end - first) - 1;
        for (int i = 0; i < helpers; i++) {
            Thread thread = new Thread(() -> work(shared), "shardsmith-worker-" + (i + 1));
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        work(shared);
        join(threads);
        synchronized (shared.failures()) {
            if (!shared.failures().isEmpty()) {
                Throwable failure = shared.failures().get(0);
                if (failure instanceof IOException told) {
                    throw told;
                }
                throw new IllegalStateException("a worker failed", failure);
            }
        }
    }

    private record Shared(
            AtomicInteger next,
            int end,
            IntPredicate done,
            long bytesTotal,
            Finished finished,
            List<Throwable> failures) {}

    private void work(Shared shared) {
        BandMover mover = new BandMover(
                new Buffers(context.bufferBytes()),
                context.checks(),
                context.sink(),
                context.fillRows(),
                context.options().whenReplicasDiffer());
        try {
            while (true) {
                int unit = shared.next().getAndIncrement();
                if (unit >= shared.end() || hasFailed(shared)) {
                    break;
                }
                if (shared.done().test(unit)) {
                    continue;
                }
                WorkResult result = new WorkResult();
                units.forEachBand(unit, (move, band) -> mover.move(move, band, result));
                shared.finished().unit(unit, units.bytes(unit), result);
                progress(units.bytes(unit), shared.bytesTotal());
            }
        } catch (IOException | RuntimeException | Error e) {
            synchronized (shared.failures()) {
                shared.failures().add(e);
            }
        }
        bytesRead.addAndGet(mover.bytesRead());
    }

    private static boolean hasFailed(Shared shared) {
        synchronized (shared.failures()) {
            return !shared.failures().isEmpty();
        }
    }

    private void progress(long bytes, long total) {
        synchronized (progressLock) {
            bytesDone += bytes;
            context.options().progress().update(bytesDone, total);
        }
    }

    private static void join(List<Thread> threads) {
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
