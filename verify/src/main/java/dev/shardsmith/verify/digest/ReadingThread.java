package dev.shardsmith.verify.digest;

/** A thread that keeps its reader, and with it the buffers, from one piece of work to the next. */
final class ReadingThread extends Thread {
    private final BlockReader reader = new BlockReader();

    ReadingThread(Runnable work) {
        super(work, "verify-worker");
        setDaemon(true);
    }

    BlockReader reader() {
        return reader;
    }
}
