package dev.shardsmith.formats.torch;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Something that a second thread does meanwhile. */
final class Aside {
    private final FutureTask<Void> task;

    private Aside(FutureTask<Void> task) {
        this.task = task;
    }

    /** What is to be done. */
    @FunctionalInterface
    interface Work {
        void run() throws IOException;
    }

    /** Starts something; {@link #join} has to follow. */
    static Aside start(String name, Work work) {
        FutureTask<Void> task = new FutureTask<>(() -> {
            work.run();
            return null;
        });
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        return new Aside(task);
    }

    /** Waits until it is done, and fails as it failed. */
    void join() throws IOException {
        try {
            task.get();
        } catch (ExecutionException e) {
            // What is thrown there is thrown here, as if it had been done here.
            if (e.getCause() instanceof IOException failure) {
                throw failure;
            }
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) e.getCause();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("interrupted while a file is opened").initCause(e);
        }
    }
}
