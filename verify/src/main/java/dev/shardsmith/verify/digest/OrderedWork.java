package dev.shardsmith.verify.digest;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Does independent pieces of work on several threads and takes their results in order.
 *
 * <p>Only a few pieces are under way at a time, so neither the work nor the results pile up.
 */
public final class OrderedWork implements AutoCloseable {
    /** Takes one result. */
    @FunctionalInterface
    public interface Taker<T> {
        /** Takes the next result. */
        void take(T result) throws IOException;
    }

    /** Each thread keeps buffers of a few MiB, and this many are enough for the memory bandwidth of any machine. */
    private static final int MOST_THREADS = 32;

    private final ExecutorService threads;
    private final int underWay;

    /** Work on {@code workers} threads, or on the most that are of use if that is fewer. */
    public OrderedWork(int workers) {
        int used = Math.min(workers, MOST_THREADS);
        this.threads = Executors.newFixedThreadPool(used, ReadingThread::new);
        this.underWay = 4 * used;
    }

    /** The number of threads where the user names none: one for each processor. */
    public static int usualThreads() {
        return Math.min(Runtime.getRuntime().availableProcessors(), MOST_THREADS);
    }

    /**
     * Does all of {@code work} and hands the results to {@code taker} in the order of the work, on the calling thread.
     *
     * @throws IOException the first failure in that order; later work may have been done by then
     */
    public <T> void inOrder(Iterator<Callable<T>> work, Taker<T> taker) throws IOException {
        Deque<Future<T>> pending = new ArrayDeque<>();
        try {
            while (work.hasNext() || !pending.isEmpty()) {
                while (work.hasNext() && pending.size() < underWay) {
                    pending.add(threads.submit(work.next()));
                }
                taker.take(result(pending.remove()));
            }
        } finally {
            pending.forEach(future -> future.cancel(false));
        }
    }

    private static <T> T result(Future<T> future) throws IOException {
        try {
            return future.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException failure) {
                throw failure;
            }
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            if (e.getCause() instanceof Error failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
