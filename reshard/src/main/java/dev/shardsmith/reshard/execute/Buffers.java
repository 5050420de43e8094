package dev.shardsmith.reshard.execute;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The buffers of one worker; each is made when it is first needed and holds one band at its widest element type. */
final class Buffers {
    /** How many buffers a worker has at most. */
    static final int MOST = 4;

    private final int capacity;
    private final ByteBuffer[] buffers = new ByteBuffer[MOST];

    Buffers(int capacity) {
        this.capacity = capacity;
    }

    /** Bytes that each buffer holds. */
    int capacity() {
        return capacity;
    }

    /** The band, assembled from the sources. */
    ByteBuffer band() {
        return buffer(0);
    }

    /** Where stretches of files are taken apart and put together. */
    ByteBuffer staging() {
        return buffer(1);
    }

    /** A second view of the band: a replica, or a source part of another element type. */
    ByteBuffer other() {
        return buffer(2);
    }

    /** The band in the target's element type. */
    ByteBuffer cast() {
        return buffer(3);
    }

    private ByteBuffer buffer(int index) {
        if (buffers[index] == null) {
            buffers[index] = ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
        }
        return buffers[index];
    }
}
