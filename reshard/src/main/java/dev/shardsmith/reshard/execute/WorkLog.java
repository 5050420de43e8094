package dev.shardsmith.reshard.execute;

import java.io.Closeable;
import java.io.IOException;
import java.util.BitSet;

/**
 * Collects finished units and journals them in batches, each after its data was brought to the disk, on a thread of its own so
 * that no worker waits for the disk.
 */
final class WorkLog implements Closeable {
    private final Journal journal;
    private final TargetFiles files;
    private final Pace pace;
    private final Thread thread;
    private BitSet units = new BitSet();
    private WorkResult result = new WorkResult();
    private long bytes;
    private boolean stopped;
    private IOException failure;

    /**
     * When a batch is due: after so many bytes, or so long after the one before.
     *
     * @param bytes bytes of finished units
     * @param millis milliseconds
     */
    record Pace(long bytes, long millis) {
        /** Seldom enough to cost nothing, often enough that little is done twice. */
        static final Pace USUAL = new Pace(256L << 20, 2_000);
    }

    WorkLog(Journal journal, TargetFiles files, Pace pace) {
        this.journal = journal;
        this.files = files;
        this.pace = pace;
        this.thread = new Thread(this::keep, "shardsmith-journal");
        thread.setDaemon(true);
        thread.start();
    }

    /** Notes a finished unit; fails if journalling has failed. */
    synchronized void finished(int unit, long unitBytes, WorkResult unitResult) throws IOException {
        if (failure != null) {
            throw failure;
        }
        units.set(unit);
        result.addAll(unitResult);
        bytes += unitBytes;
        if (bytes >= pace.bytes()) {
            notifyAll();
        }
    }

    /** Journals what is left and ends the thread. */
    @Override
    public void close() throws IOException {
        synchronized (this) {
            stopped = true;
            notifyAll();
        }
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
        synchronized (this) {
            if (failure != null) {
                throw failure;
            }
        }
    }

    private void keep() {
        try {
            while (awaitBatch()) {
                writeBatch();
            }
            writeBatch();
        } catch (IOException e) {
            synchronized (this) {
                failure = e;
            }
        }
    }

    /** Waits until a batch is due; false once there will be no more. */
    private synchronized boolean awaitBatch() {
        long deadline = System.nanoTime() + pace.millis() * 1_000_000;
        while (!stopped && bytes < pace.bytes()) {
            long left = (deadline - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                break;
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                return false;
            }
        }
        return !stopped;
    }

    private void writeBatch() throws IOException {
        BitSet batchUnits;
        WorkResult batch;
        synchronized (this) {
            batchUnits = units;
            batch = result;
            units = new BitSet();
            result = new WorkResult();
            bytes = 0;
        }
        if (!batchUnits.isEmpty()) {
            files.force();
            journal.append(batchUnits, batch, false);
        }
    }
}
