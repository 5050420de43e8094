package dev.shardsmith.reshard.execute;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Takes finished stretches of target files: writes them, or compares them with what was written. */
interface BandSink {
    /** Takes the remaining bytes of {@code bytes}, which belong at {@code position} of a slot. */
    void put(SlotTable.SlotPlace slot, long position, ByteBuffer bytes) throws IOException;
}
