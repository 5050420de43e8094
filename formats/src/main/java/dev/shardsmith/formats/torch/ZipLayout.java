package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.FileImage;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Lays out a zip archive exactly as PyTorch's own writer does.
 *
 * <p>Data is aligned by an extra field of the local header, sizes and CRC stand behind the data and in the central
 * directory, dates are zero, and the zip64 end record is always there.
 */
final class ZipLayout {
    private static final int HEADER_SIZE = 30;
    private static final int ENTRY_SIZE = 46;
    private static final int FLAGS_EMPTY = 0x0800;
    private static final int FLAGS = 0x0808;
    private static final long FULL32 = 0xffff_ffffL;
    private static final int FULL16 = 0xffff;
    private static final int CRC_IN_ENTRY = 16;

    private final int alignment;
    private final ByteArrayOutputStream pending = new ByteArrayOutputStream();
    private final ByteArrayOutputStream directory = new ByteArrayOutputStream();
    private final List<FileImage.Literal> literals = new ArrayList<>();
    private final List<FileImage.Slot> slots = new ArrayList<>();
    private final List<FileImage.CrcPatch> crcPatches = new ArrayList<>();

    /** Places of slots' CRCs in the directory, before its own place is known. */
    private final List<FileImage.CrcPatch> directoryPatches = new ArrayList<>();

    private long position;
    private long entries;

    ZipLayout(int alignment) {
        if (alignment < 1 || alignment > 1 << 16) {
            throw new IllegalArgumentException("alignment " + alignment);
        }
        this.alignment = alignment;
    }

    /** A record whose bytes are known. */
    void record(String name, byte[] content) {
        CRC32 crc = new CRC32();
        crc.update(content);
        long headerOffset = header(name, content.length);
        write(content);
        if (content.length > 0) {
            descriptor((int) crc.getValue(), content.length, headerOffset);
        }
        entry(name, (int) crc.getValue(), content.length, headerOffset);
    }

    /** A record that is to be filled later. */
    void slot(String name, String key, long size) {
        long headerOffset = header(name, size);
        flush();
        int slot = slots.size();
        slots.add(new FileImage.Slot(key, position, size));
        position = Math.addExact(position, size);
        if (size > 0) {
            crcPatches.add(new FileImage.CrcPatch(position + 4, slot));
            directoryPatches.add(new FileImage.CrcPatch(directory.size() + (long) CRC_IN_ENTRY, slot));
            descriptor(0, size, headerOffset);
        }
        entry(name, 0, size, headerOffset);
    }

    /** The whole file, after the last record. */
    FileImage finish(String path) {
        long directoryOffset = position;
        for (FileImage.CrcPatch patch : directoryPatches) {
            crcPatches.add(new FileImage.CrcPatch(directoryOffset + patch.offset(), patch.slot()));
        }
        write(directory.toByteArray());
        long endOffset = position;
        ByteBuffer end = buffer(56 + 20 + 22);
        end.putInt(0x06064b50).putLong(44).putShort((short) 0x031e).putShort((short) 0x002d);
        end.putInt(0).putInt(0).putLong(entries).putLong(entries);
        end.putLong(directory.size()).putLong(directoryOffset);
        end.putInt(0x07064b50).putInt(0).putLong(endOffset).putInt(1);
        short count = (short) Math.min(entries, FULL16);
        end.putInt(0x06054b50)
                .putShort((short) 0)
                .putShort((short) 0)
                .putShort(count)
                .putShort(count);
        end.putInt(capped(directory.size())).putInt(capped(directoryOffset)).putShort((short) 0);
        write(end.array());
        flush();
        crcPatches.sort(Comparator.comparingLong(FileImage.CrcPatch::offset));
        return new FileImage(path, position, List.copyOf(literals), List.copyOf(slots), List.copyOf(crcPatches));
    }

    private long header(String name, long size) {
        long offset = position;
        byte[] nameBytes = name.getBytes(StandardCharsets.UTF_8);
        byte[] wide = zip64(size, 0, offset);
        long start = offset + HEADER_SIZE + nameBytes.length + wide.length + 4;
        int padding = (int) Math.floorMod(-start, (long) alignment);
        ByteBuffer header = buffer(HEADER_SIZE + nameBytes.length + wide.length + 4 + padding);
        header.putInt(0x04034b50).putShort((short) 0).putShort(flags(size)).putShort((short) 0);
        // No date, and CRC and sizes are left to the descriptor.
        header.putInt(0).putInt(0).putInt(0).putInt(0);
        header.putShort((short) nameBytes.length).putShort((short) (wide.length + 4 + padding));
        header.put(nameBytes).put(wide).put((byte) 'F').put((byte) 'B').putShort((short) padding);
        Arrays.fill(header.array(), header.position(), header.capacity(), (byte) 'Z');
        write(header.array());
        return offset;
    }

    private void descriptor(int crc, long size, long headerOffset) {
        boolean wide = size >= FULL32 || headerOffset >= FULL32;
        ByteBuffer descriptor = buffer(wide ? 24 : 16);
        descriptor.putInt(0x08074b50).putInt(crc);
        if (wide) {
            descriptor.putLong(size).putLong(size);
        } else {
            descriptor.putInt((int) size).putInt((int) size);
        }
        write(descriptor.array());
    }

    private void entry(String name, int crc, long size, long headerOffset) {
        byte[] nameBytes = name.getBytes(StandardCharsets.UTF_8);
        byte[] wide = zip64(size, size, headerOffset);
        ByteBuffer entry = buffer(ENTRY_SIZE + nameBytes.length + wide.length);
        entry.putInt(0x02014b50)
                .putShort((short) 0)
                .putShort((short) 0)
                .putShort(flags(size))
                .putShort((short) 0);
        entry.putInt(0).putInt(crc).putInt(capped(size)).putInt(capped(size));
        entry.putShort((short) nameBytes.length).putShort((short) wide.length).putShort((short) 0);
        entry.putShort((short) 0).putShort((short) 0).putInt(0).putInt(capped(headerOffset));
        entry.put(nameBytes).put(wide);
        directory.writeBytes(entry.array());
        entries++;
    }

    /** The extra field with those numbers that do not fit 32 bits; a local header has 0 for the compressed size. */
    private static byte[] zip64(long size, long compressedSize, long headerOffset) {
        int length = (size >= FULL32 ? 16 : 0) + (headerOffset >= FULL32 ? 8 : 0);
        if (length == 0) {
            return new byte[0];
        }
        ByteBuffer extra = buffer(4 + length);
        extra.putShort((short) 1).putShort((short) length);
        if (size >= FULL32) {
            extra.putLong(size).putLong(compressedSize);
        }
        if (headerOffset >= FULL32) {
            extra.putLong(headerOffset);
        }
        return extra.array();
    }

    private static short flags(long size) {
        return (short) (size > 0 ? FLAGS : FLAGS_EMPTY);
    }

    private static int capped(long value) {
        return (int) Math.min(value, FULL32);
    }

    private static ByteBuffer buffer(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void write(byte[] bytes) {
        pending.writeBytes(bytes);
        position += bytes.length;
    }

    private void flush() {
        if (pending.size() > 0) {
            literals.add(new FileImage.Literal(position - pending.size(), pending.toByteArray()));
            pending.reset();
        }
    }
}
