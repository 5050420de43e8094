package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;

/**
 * The streams of a scan whose heads go in two halves, so that the carry of one, which only moves bytes, runs beside the
 * arithmetic of the other.
 *
 * <p>Each half has a stream; both carries share an urgent one, because a carry that waited until the other half's blocks are
 * all placed would have nothing left to run beside.
 */
final class ScanStreams {
    /** Halves. */
    static final int HALVES = 2;

    private final Driver driver;
    private final Driver.Handle[] half = new Driver.Handle[HALVES];
    private final Driver.Handle urgent;
    private final Driver.Handle begun;
    private final Driver.Handle scored;
    private final Driver.Handle[] reached = new Driver.Handle[HALVES];

    ScanStreams(Driver driver) throws CheckpointException {
        this.driver = driver;
        this.urgent = driver.createStream(true);
        this.begun = driver.createEvent();
        this.scored = driver.createEvent();
        for (int i = 0; i < HALVES; i++) {
            half[i] = driver.createStream(false);
            reached[i] = driver.createEvent();
        }
    }

    /** The stream of a half. */
    Driver.Handle of(int index) {
        return half[index];
    }

    /** The stream of the carries. */
    Driver.Handle urgent() {
        return urgent;
    }

    /** Both halves begin after what was asked of the card before. */
    void fork() throws CheckpointException {
        driver.record(begun, Driver.DEFAULT_STREAM);
        for (Driver.Handle stream : half) {
            driver.await(stream, begun);
        }
    }

    /** The first half goes on after the scores, which the second one has just made. */
    void scored() throws CheckpointException {
        driver.record(scored, half[1]);
        driver.await(half[0], scored);
    }

    /** The next carry begins after what a half has done so far. */
    void beforeCarry(int index) throws CheckpointException {
        driver.record(reached[index], half[index]);
        driver.await(urgent, reached[index]);
    }

    /** A half goes on after the carry that was started last. */
    void afterCarry(int index) throws CheckpointException {
        driver.record(reached[index], urgent);
        driver.await(half[index], reached[index]);
    }

    /** What is asked of the card from now on comes after both halves. */
    void join() throws CheckpointException {
        for (int i = 0; i < HALVES; i++) {
            driver.record(reached[i], half[i]);
            driver.await(Driver.DEFAULT_STREAM, reached[i]);
        }
    }

    void close() throws CheckpointException {
        for (int i = 0; i < HALVES; i++) {
            driver.destroyStream(half[i]);
            driver.destroyEvent(reached[i]);
        }
        driver.destroyStream(urgent);
        driver.destroyEvent(begun);
        driver.destroyEvent(scored);
    }
}
