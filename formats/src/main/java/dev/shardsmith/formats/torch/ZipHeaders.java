package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** Reads the local headers of a zip archive's records and compares them with the central directory and each other. */
final class ZipHeaders {
    private static final int HEADER_SIGNATURE = 0x04034b50;
    private static final int HEADER_SIZE = 30;
    private static final long FULL32 = 0xffff_ffffL;

    /** Encrypted, strongly encrypted, or with a hidden directory. */
    private static final int UNREADABLE_FLAGS = 1 | 1 << 6 | 1 << 13;

    /** Bytes between the end of one record and the next header: none, or a data descriptor in one of its four forms. */
    private static final List<Long> DESCRIPTOR_SIZES = List.of(0L, 12L, 16L, 20L, 24L);

    private final ByteSource source;
    /** Where the central directory begins, and the records must end. */
    private final long directoryOffset;

    private final int windowBytes;
    private final ZipFindings findings;
    private ByteBuffer window = ByteBuffer.allocate(0);
    private long windowStart;

    ZipHeaders(ByteSource source, long directoryOffset, int windowBytes, ZipFindings findings) {
        this.source = source;
        this.directoryOffset = directoryOffset;
        this.windowBytes = windowBytes;
        this.findings = findings;
    }

    /** Completes the entries from their local headers, in the order they lie in the file, so that overlaps show. */
    void complete(List<ZipRecord> entries) throws IOException {
        int[] inFileOrder = fileOrder(entries);
        long last = 0;
        boolean descriptor = false;
        for (int i : inFileOrder) {
            ZipRecord record = readHeader(entries.get(i));
            entries.set(i, record);
            checkPlace(record, last, descriptor);
            last = record.dataOffset() + record.compressedSize();
            descriptor = record.hasDescriptor();
        }
    }

    /** One entry from its local header alone, whatever there is around it. */
    ZipRecord completed(ZipRecord entry) throws IOException {
        return readHeader(entry);
    }

    private static int[] fileOrder(List<ZipRecord> entries) {
        int[] order = new int[entries.size()];
        boolean sorted = true;
        long before = 0;
        for (int i = 0; i < order.length; i++) {
            order[i] = i;
            long offset = entries.get(i).headerOffset();
            sorted &= before <= offset;
            before = offset;
        }
        if (sorted) {
            return order;
        }
        return IntStream.range(0, order.length)
                .boxed()
                .sorted(Comparator.comparingLong(i -> entries.get(i).headerOffset()))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    private void checkPlace(ZipRecord record, long last, boolean descriptor) throws CheckpointException {
        long gap = record.headerOffset() - last;
        if (gap < 0) {
            findings.report(
                    ZipProblem.Kind.OVERLAPPING_RECORDS,
                    record.name(),
                    record.headerOffset(),
                    "record " + record.name() + " begins inside the one before it, which ends at byte " + last);
        } else if (last == 0 && gap > 0) {
            findings.report(
                    ZipProblem.Kind.HIDDEN_BYTES, record.name(), 0, gap + " bytes stand before the first record");
        } else if (gap > 0 && !(descriptor && DESCRIPTOR_SIZES.contains(gap))) {
            findings.report(
                    ZipProblem.Kind.HIDDEN_BYTES,
                    record.name(),
                    last,
                    gap + " bytes stand before record " + record.name());
        }
    }

    /** The record with its data's position. */
    private ZipRecord readHeader(ZipRecord entry) throws IOException {
        long at = entry.headerOffset();
        if (at > directoryOffset - HEADER_SIZE) {
            throw CheckpointException.malformed(
                    source.name(),
                    at,
                    "record " + entry.name() + " should begin at byte " + at + ", but the records end at byte "
                            + directoryOffset);
        }
        int header = look(at, HEADER_SIZE + entry.name().length() * 3);
        if (window.getInt(header) != HEADER_SIGNATURE) {
            throw CheckpointException.malformed(
                    source.name(), at, "the local header of record " + entry.name() + " has a wrong signature");
        }
        int nameLength = Short.toUnsignedInt(window.getShort(header + 26));
        int extraLength = Short.toUnsignedInt(window.getShort(header + 28));
        long dataOffset = at + HEADER_SIZE + nameLength + extraLength;
        if (dataOffset > directoryOffset || entry.compressedSize() > directoryOffset - dataOffset) {
            throw CheckpointException.truncated(
                    source.name(),
                    at,
                    "record " + entry.name() + " claims " + entry.compressedSize()
                            + " bytes, but the records end at byte " + directoryOffset);
        }
        checkHeader(entry, header, nameLength);
        return new ZipRecord(
                entry.name(),
                entry.flags(),
                entry.method(),
                entry.crc(),
                entry.compressedSize(),
                entry.size(),
                at,
                dataOffset);
    }

    private void checkHeader(ZipRecord entry, int header, int nameLength) throws CheckpointException {
        int flags = Short.toUnsignedInt(window.getShort(header + 6));
        if (((flags | entry.flags()) & UNREADABLE_FLAGS) != 0) {
            findings.report(
                    ZipProblem.Kind.ENCRYPTED_RECORD,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is marked as encrypted");
        }
        int name = header + HEADER_SIZE;
        boolean sameName = nameLength <= window.limit() - name && sameName(name, nameLength, entry.name());
        int method = Short.toUnsignedInt(window.getShort(header + 8));
        boolean sameCrc = agrees(Integer.toUnsignedLong(window.getInt(header + 14)), entry.crc());
        boolean sameSizes = agrees(Integer.toUnsignedLong(window.getInt(header + 18)), entry.compressedSize())
                && agrees(Integer.toUnsignedLong(window.getInt(header + 22)), entry.size());
        if (!sameName || method != entry.method() || !sameCrc || !sameSizes) {
            String what = !sameName ? "name" : method != entry.method() ? "method" : !sameCrc ? "CRC" : "size";
            findings.report(
                    ZipProblem.Kind.HEADER_MISMATCH,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " has another " + what
                            + " in its local header than in the central directory");
        }
        if (entry.method() != ZipRecord.STORED && entry.method() != ZipRecord.DEFLATED) {
            findings.report(
                    ZipProblem.Kind.UNKNOWN_METHOD,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is compressed by method " + entry.method());
        } else if (!entry.stored()) {
            findings.report(
                    ZipProblem.Kind.COMPRESSED_RECORD,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is compressed");
        } else if (entry.compressedSize() != entry.size()) {
            findings.report(
                    ZipProblem.Kind.HEADER_MISMATCH,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is stored, but has two sizes: " + entry.compressedSize() + " and "
                            + entry.size());
        }
    }

    private boolean sameName(int start, int length, String name) {
        boolean plain = length == name.length();
        byte[] bytes = window.array();
        for (int i = 0; plain && i < length; i++) {
            plain = bytes[start + i] == name.charAt(i);
        }
        return plain || window.slice(start, length).equals(ByteBuffer.wrap(name.getBytes(StandardCharsets.UTF_8)));
    }

    /** Local headers may leave a number to the data descriptor (0) or to the extra field. */
    private static boolean agrees(long local, long central) {
        return local == 0 || local == FULL32 || local == central;
    }

    /** Where in the window a local header lies; reads a few of them at a time. */
    private int look(long at, int wanted) throws IOException {
        int need = (int) Math.min(wanted, directoryOffset - at);
        if (at < windowStart || at + need > windowStart + window.limit()) {
            int length = (int) Math.min(Math.max(need, windowBytes), directoryOffset - at);
            if (window.capacity() < length) {
                window = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
            }
            source.read(at, window.clear().limit(length));
            windowStart = at;
        }
        return (int) (at - windowStart);
    }
}
