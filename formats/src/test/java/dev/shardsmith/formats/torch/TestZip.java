package dev.shardsmith.formats.torch;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.zip.CRC32;

/** Writes zip archives as Python's {@code zipfile} does, or with one thing wrong. */
final class TestZip {
    private final List<Entry> entries = new ArrayList<>();
    private byte[] comment = new byte[0];
    private boolean zip64;

    /** All that an entry says about itself; {@code local} parts differ only in hostile files. */
    record Entry(
            String name,
            String localName,
            int flags,
            int method,
            int localMethod,
            int crc,
            int localCrc,
            long size,
            byte[] data) {
        static Entry of(String name, byte[] data) {
            CRC32 crc = new CRC32();
            crc.update(data);
            int value = (int) crc.getValue();
            return new Entry(name, name, 0x0800, 0, 0, value, value, data.length, data);
        }

        Entry withLocalName(String other) {
            return new Entry(name, other, flags, method, localMethod, crc, localCrc, size, data);
        }

        Entry withFlags(int other) {
            return new Entry(name, localName, other, method, localMethod, crc, localCrc, size, data);
        }

        Entry withCrc(int other) {
            return new Entry(name, localName, flags, method, localMethod, other, other, size, data);
        }

        Entry withLocalMethod(int other) {
            return new Entry(name, localName, flags, method, other, crc, localCrc, size, data);
        }

        Entry packed(byte[] packed) {
            return new Entry(name, localName, flags, 8, 8, crc, localCrc, size, packed);
        }
    }

    static TestZip of(Entry... entries) {
        TestZip zip = new TestZip();
        zip.entries.addAll(List.of(entries));
        return zip;
    }

    /** An archive with these records and the small ones that PyTorch wants. */
    static TestZip torch(byte[] pickle, Entry... storages) {
        TestZip zip = of(Entry.of("m/data.pkl", pickle));
        zip.entries.addAll(List.of(storages));
        zip.entries.add(Entry.of("m/version", "3\n".getBytes(StandardCharsets.US_ASCII)));
        return zip;
    }

    TestZip with(Entry entry) {
        entries.add(entry);
        return this;
    }

    TestZip change(String name, UnaryOperator<Entry> change) {
        entries.replaceAll(entry -> entry.name().equals(name) ? change.apply(entry) : entry);
        return this;
    }

    TestZip withComment(String text) {
        comment = text.getBytes(StandardCharsets.US_ASCII);
        return this;
    }

    TestZip withZip64() {
        zip64 = true;
        return this;
    }

    byte[] bytes() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream directory = new ByteArrayOutputStream();
        for (Entry entry : entries) {
            int offset = out.size();
            byte[] localName = entry.localName().getBytes(StandardCharsets.UTF_8);
            byte[] name = entry.name().getBytes(StandardCharsets.UTF_8);
            int extra = zip64 ? 20 : 0;
            ByteBuffer local = buffer(30 + localName.length + extra);
            local.putInt(0x04034b50).putShort((short) 20).putShort((short) entry.flags());
            local.putShort((short) entry.localMethod()).putInt(0x21_0000).putInt(entry.localCrc());
            sizes(local, entry);
            local.putShort((short) localName.length).putShort((short) extra).put(localName);
            extra(local, entry);
            out.writeBytes(local.array());
            out.writeBytes(entry.data());
            ByteBuffer central = buffer(46 + name.length + extra);
            central.putInt(0x02014b50).putShort((short) 20).putShort((short) 20).putShort((short) entry.flags());
            central.putShort((short) entry.method()).putInt(0x21_0000).putInt(entry.crc());
            sizes(central, entry);
            central.putShort((short) name.length)
                    .putShort((short) extra)
                    .putShort((short) 0)
                    .putShort((short) 0);
            central.putShort((short) 0).putInt(0).putInt(offset).put(name);
            extra(central, entry);
            directory.writeBytes(central.array());
        }
        int start = out.size();
        out.writeBytes(directory.toByteArray());
        ByteBuffer end = buffer(22);
        end.putInt(0x06054b50).putInt(0).putShort((short) entries.size()).putShort((short) entries.size());
        end.putInt(directory.size()).putInt(start).putShort((short) comment.length);
        out.writeBytes(end.array());
        out.writeBytes(comment);
        return out.toByteArray();
    }

    private void sizes(ByteBuffer header, Entry entry) {
        header.putInt(zip64 ? -1 : entry.data().length).putInt(zip64 ? -1 : (int) entry.size());
    }

    private void extra(ByteBuffer header, Entry entry) {
        if (zip64) {
            header.putShort((short) 1)
                    .putShort((short) 16)
                    .putLong(entry.size())
                    .putLong(entry.data().length);
        }
    }

    private static ByteBuffer buffer(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }
}
