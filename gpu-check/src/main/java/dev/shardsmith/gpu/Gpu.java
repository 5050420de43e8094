package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayDeque;
import java.util.Deque;

/** One opened card: its context, kernels, memory and transfers. */
final class Gpu {
    private final Driver driver;
    private final Driver.Card card;
    private final Driver.Handle context;
    private final Kernels kernels;
    private final DeviceMemory memory;
    private final Transfers transfers;
    private final ScanStreams streams;
    /** For threads that bring weights while others compute; those that are not in use. */
    private final Deque<Transfers> spare = new ArrayDeque<>();

    private Gpu(Driver driver, Driver.Card card, Driver.Handle context, KernelImage image) throws CheckpointException {
        this.driver = driver;
        this.card = card;
        this.context = context;
        this.kernels = new Kernels(driver, image);
        this.memory = new DeviceMemory(driver);
        this.transfers = new Transfers(driver);
        this.streams = new ScanStreams(driver);
    }

    /**
     * Opens a card with the best image for it.
     *
     * @throws CheckpointException of kind ENVIRONMENT if it is not there, too old, or fails
     */
    static Gpu open(Driver driver, int ordinal) throws CheckpointException {
        int cards = driver.cards();
        if (ordinal < 0 || ordinal >= cards) {
            throw CheckpointException.of(
                    CheckpointException.Kind.ENVIRONMENT,
                    "",
                    cards == 0 ? "the NVIDIA driver sees no card" : "there is no card " + ordinal + " of " + cards);
        }
        Driver.Card card = driver.card(ordinal);
        KernelImage image = KernelImage.pick(card, driver.version());
        return open(driver, card, image);
    }

    /** Opens a card with a given image. */
    static Gpu open(Driver driver, Driver.Card card, KernelImage image) throws CheckpointException {
        Driver.Handle context = driver.retainContext(card.ordinal());
        driver.enter(context);
        return new Gpu(driver, card, context, image);
    }

    /** Makes this thread's calls go to this card; every operation begins with it. */
    void enter() throws CheckpointException {
        driver.enter(context);
    }

    Driver driver() {
        return driver;
    }

    Driver.Card card() {
        return card;
    }

    Kernels kernels() {
        return kernels;
    }

    DeviceMemory memory() {
        return memory;
    }

    Transfers transfers() {
        return transfers;
    }

    /** Something done with transfers that nobody else uses meanwhile. */
    interface Transferring<E extends Exception> {
        /** Does it. */
        void with(Transfers own) throws E, CheckpointException;
    }

    /** Does something beside the thread that computes. */
    <E extends Exception> void beside(Transferring<E> work) throws E, CheckpointException {
        Transfers own;
        synchronized (spare) {
            own = spare.poll();
        }
        if (own == null) {
            own = new Transfers(driver);
        }
        try {
            work.with(own);
        } finally {
            synchronized (spare) {
                spare.push(own);
            }
        }
    }

    ScanStreams streams() {
        return streams;
    }

    /** A new array with these numbers. */
    GpuArray upload(float[] values) throws CheckpointException {
        GpuArray array = memory.floats(values.length);
        transfers.in(values, array);
        return array;
    }

    /** A new array with these integers. */
    GpuArray upload(int[] values) throws CheckpointException {
        GpuArray array = memory.array(values.length, Integer.BYTES);
        transfers.in(values, array);
        return array;
    }

    /** Milliseconds that a piece of work takes on the card. */
    double milliseconds(Work work) throws CheckpointException {
        Driver.Handle from = driver.createEvent();
        Driver.Handle to = driver.createEvent();
        try {
            driver.record(from, Driver.DEFAULT_STREAM);
            work.run();
            driver.record(to, Driver.DEFAULT_STREAM);
            return driver.milliseconds(from, to);
        } finally {
            driver.destroyEvent(from);
            driver.destroyEvent(to);
        }
    }

    /** Something to do on the card. */
    interface Work {
        /** Starts it. */
        void run() throws CheckpointException;
    }

    void close() throws CheckpointException {
        enter();
        driver.synchronize();
        transfers.close();
        streams.close();
        synchronized (spare) {
            while (!spare.isEmpty()) {
                spare.pop().close();
            }
        }
        memory.trim();
        driver.releaseContext(card.ordinal());
    }
}
