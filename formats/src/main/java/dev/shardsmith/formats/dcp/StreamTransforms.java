package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import io.airlift.compress.zstd.ZstdInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.List;

/** Undoes what PyTorch's storage extensions did to the bytes of an item. */
final class StreamTransforms {
    private static final int BLOCK = 1 << 16;

    private StreamTransforms() {}

    /**
     * The item's own bytes, in memory.
     *
     * @param transforms descriptors such as {@code stream.zstd/1}, to be undone in this order
     * @param maxBytes the most that may come out
     * @throws CheckpointException if a transform is not known, its data is damaged, or too much comes out
     */
    static ByteSource undo(ByteSource item, List<String> transforms, int maxBytes) throws IOException {
        ByteSource current = item;
        for (String transform : transforms) {
            int slash = transform.indexOf('/');
            String name = slash < 0 ? transform : transform.substring(0, slash);
            String version = slash < 0 ? "1" : transform.substring(slash + 1);
            if (!name.equals("stream.zstd") || !(version.equals("1") || version.startsWith("1."))) {
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        item.name(),
                        "the item went through the transform " + transform + ", of which only stream.zstd/1 is known");
            }
            current = ByteSource.of(item.name() + "!" + name, decompress(current, maxBytes));
        }
        return current;
    }

    private static byte[] decompress(ByteSource compressed, int maxBytes) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] block = new byte[BLOCK];
        try (ZstdInputStream stream = new ZstdInputStream(new SourceStream(compressed))) {
            for (int count = stream.read(block); count >= 0; count = stream.read(block)) {
                if (count > maxBytes - bytes.size()) {
                    throw CheckpointException.of(
                            CheckpointException.Kind.LIMIT,
                            compressed.name(),
                            "the item's compressed data holds more than the " + maxBytes + " bytes that it may");
                }
                bytes.write(block, 0, count);
            }
        } catch (CheckpointException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            // The decoder reports damage with whatever it stumbles over.
            throw CheckpointException.of(
                            CheckpointException.Kind.MALFORMED, compressed.name(), "the item is not valid zstd data")
                    .causedBy(e);
        }
        return bytes.toByteArray();
    }

    private static final class SourceStream extends InputStream {
        private final ByteSource source;
        private long position;

        private SourceStream(ByteSource source) {
            this.source = source;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            int count = (int) Math.min(length, source.size() - position);
            if (count == 0) {
                return length == 0 ? 0 : -1;
            }
            source.read(position, ByteBuffer.wrap(target, offset, count));
            position += count;
            return count;
        }
    }
}
