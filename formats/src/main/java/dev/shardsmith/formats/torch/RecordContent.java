package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/** The content of records, unpacked where it is compressed. */
final class RecordContent {
    private static final int BLOCK = 1 << 20;

    /** More than deflate can reach with anything but zeros. */
    private static final long MOST_INFLATION = 1000;

    private final TorchLimits limits;

    RecordContent(TorchLimits limits) {
        this.limits = limits;
    }

    ByteSource of(ZipArchive zip, ZipRecord record) throws IOException {
        ByteSource data = zip.data(record);
        return record.stored() ? data : inflated(record, data);
    }

    static long crc(ByteSource content) throws IOException {
        CRC32 crc = new CRC32();
        ByteBuffer block = ByteBuffer.allocate((int) Math.min(BLOCK, content.size()));
        for (long at = 0; at < content.size(); at += block.limit()) {
            block.clear().limit((int) Math.min(block.capacity(), content.size() - at));
            content.read(at, block);
            crc.update(block.flip());
        }
        return crc.getValue();
    }

    /** A compressed record's content; storages are never read this way. */
    private ByteSource inflated(ZipRecord record, ByteSource packed) throws IOException {
        if (record.size() > limits.pickle().pickleBytes()
                || record.size() > Integer.MAX_VALUE - 8
                || record.size() / MOST_INFLATION > record.compressedSize()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    packed.name(),
                    "the record would grow from " + record.compressedSize() + " to " + record.size() + " bytes");
        }
        byte[] content = new byte[(int) record.size()];
        Inflater inflater = new Inflater(true);
        try {
            int size = 0;
            long at = 0;
            while (!inflater.finished() && size < content.length) {
                if (inflater.needsInput()) {
                    int more = (int) Math.min(BLOCK, packed.size() - at);
                    if (more == 0) {
                        break;
                    }
                    inflater.setInput(packed.readBytes(at, more));
                    at += more;
                }
                int got = inflater.inflate(content, size, content.length - size);
                if (got == 0 && !inflater.needsInput()) {
                    break;
                }
                size += got;
            }
            if (size < content.length) {
                throw CheckpointException.truncated(
                        packed.name(), packed.size(), "the compressed record ends too early");
            }
        } catch (DataFormatException e) {
            throw CheckpointException.malformed(packed.name(), 0, "the compressed record is damaged")
                    .causedBy(e);
        } finally {
            inflater.end();
        }
        return ByteSource.of(packed.name(), content);
    }
}
