package dev.shardsmith.reshard.execute;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.BitSet;
import java.util.Map;
import java.util.zip.CRC32;

/**
 * The finished work of one task, as an append-only file of records.
 *
 * <pre>
 * int    length of the payload in bytes
 * int    CRC-32 of the payload
 * byte   1 if the task's part is complete, else 0
 * int    n, then n times: int first unit, int number of units
 * int    n, then n times: int slot, int term of its checksum
 * int    n, then n times: int move, long elements that became infinite
 * int    n, then n times: int move, long elements in which replicas differ
 * </pre>
 *
 * <p>Numbers are big-endian. Zeros follow the last record, so that there is room for the next ones even when the disk has
 * become full meanwhile. A record that a crash cut short, or left with other bytes, ends the journal: what it told of is
 * done again.
 */
final class Journal implements Closeable {
    private static final int HEADER_BYTES = 8;
    private static final int RESERVE = 64 << 10;

    private final FileChannel channel;
    private final Path path;
    private long end;
    private long reserved;

    private Journal(Path path, FileChannel channel, long end) {
        this.path = path;
        this.channel = channel;
        this.end = end;
        this.reserved = end;
    }

    /** All that a journal's records tell, added up. */
    static final class State {
        private final BitSet units = new BitSet();
        private final WorkResult result = new WorkResult();
        private boolean complete;

        /** The finished units. */
        BitSet units() {
            return units;
        }

        /** What they add to the whole. */
        WorkResult result() {
            return result;
        }

        /** True if the task has nothing left to do. */
        boolean complete() {
            return complete;
        }
    }

    /** Opens a journal to be continued after its last sound record; {@code state} is what those tell. */
    static Journal open(Path path, State state) throws IOException {
        long end = read(path, state);
        FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        channel.truncate(end);
        Journal journal = new Journal(path, channel, end);
        journal.reserve();
        return journal;
    }

    /** Adds up the sound records of a journal, none if there is no file, and returns the position after the last. */
    static long read(Path path, State state) throws IOException {
        if (!Files.exists(path)) {
            return 0;
        }
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path));
        while (bytes.remaining() >= HEADER_BYTES) {
            int start = bytes.position();
            int length = bytes.getInt();
            int crc = bytes.getInt();
            if (length <= 0 || length > bytes.remaining()) {
                return start;
            }
            byte[] payload = new byte[length];
            bytes.get(payload);
            if (crc != crc(payload)) {
                return start;
            }
            decode(payload, state);
        }
        return bytes.position();
    }

    /** Appends a record and brings it to the disk; the data that it tells of must be there already. */
    void append(BitSet units, WorkResult result, boolean complete) throws IOException {
        byte[] payload = encode(units, result, complete);
        ByteBuffer record = ByteBuffer.allocate(HEADER_BYTES + payload.length);
        record.putInt(payload.length).putInt(crc(payload)).put(payload).flip();
        try {
            end = write(record, end);
            if (reserved - end < RESERVE / 2) {
                reserve();
            }
            channel.force(true);
        } catch (IOException e) {
            throw EnvironmentFailure.of("write", path, e);
        }
    }

    /** Writes zeros ahead; a full disk is no failure yet. */
    private void reserve() {
        try {
            reserved = write(ByteBuffer.allocate(RESERVE), end);
        } catch (IOException e) {
            reserved = end;
        }
    }

    private long write(ByteBuffer bytes, long position) throws IOException {
        long at = position;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
        return at;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private static byte[] encode(BitSet units, WorkResult result, boolean complete) throws IOException {
        ByteArrayOutputStream ranges = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(ranges);
        int count = 0;
        for (int first = units.nextSetBit(0); first >= 0; ) {
            int end = units.nextClearBit(first);
            out.writeInt(first);
            out.writeInt(end - first);
            count++;
            first = units.nextSetBit(end);
        }
        ByteArrayOutputStream payload = new ByteArrayOutputStream();
        out = new DataOutputStream(payload);
        out.writeBoolean(complete);
        out.writeInt(count);
        out.write(ranges.toByteArray());
        out.writeInt(result.checksums().size());
        for (Map.Entry<Integer, Integer> term : result.checksums().entrySet()) {
            out.writeInt(term.getKey());
            out.writeInt(term.getValue());
        }
        writeCounts(out, result.overflows());
        writeCounts(out, result.mismatches());
        return payload.toByteArray();
    }

    private static void writeCounts(DataOutputStream out, Map<Integer, Long> counts) throws IOException {
        out.writeInt(counts.size());
        for (Map.Entry<Integer, Long> entry : counts.entrySet()) {
            out.writeInt(entry.getKey());
            out.writeLong(entry.getValue());
        }
    }

    private static void decode(byte[] payload, State state) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(payload));
        state.complete |= in.readBoolean();
        for (int left = in.readInt(); left > 0; left--) {
            int first = in.readInt();
            state.units.set(first, first + in.readInt());
        }
        for (int left = in.readInt(); left > 0; left--) {
            state.result.addChecksum(in.readInt(), in.readInt());
        }
        for (int left = in.readInt(); left > 0; left--) {
            state.result.addOverflows(in.readInt(), in.readLong());
        }
        for (int left = in.readInt(); left > 0; left--) {
            state.result.addMismatches(in.readInt(), in.readLong());
        }
    }

    private static int crc(byte[] payload) {
        CRC32 crc = new CRC32();
        crc.update(payload);
        return (int) crc.getValue();
    }
}
