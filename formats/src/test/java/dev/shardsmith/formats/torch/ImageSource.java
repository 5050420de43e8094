package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A file image of any size without a file: its literals, some bytes of its slots, and zeros. */
final class ImageSource implements ByteSource {
    private final FileImage image;
    private final TreeMap<Long, byte[]> known = new TreeMap<>();
    private final Map<String, FileImage.Slot> slots = new HashMap<>();

    ImageSource(FileImage image) {
        this.image = image;
        image.literals().forEach(literal -> known.put(literal.offset(), literal.bytes()));
        image.slots().forEach(slot -> slots.put(slot.key(), slot));
    }

    /** The layout. */
    FileImage image() {
        return image;
    }

    /** Puts bytes into a slot, {@code before} bytes before its end. */
    ImageSource with(String slot, long before, byte[] bytes) {
        FileImage.Slot place = slots.get(slot);
        known.put(place.offset() + place.length() - before, bytes);
        return this;
    }

    /** Puts the CRCs of the slots where they belong. */
    ImageSource withCrcs(long[] crcs) {
        known.replaceAll((offset, bytes) -> bytes.clone());
        for (FileImage.CrcPatch patch : image.crcPatches()) {
            Map.Entry<Long, byte[]> literal = known.floorEntry(patch.offset());
            ByteBuffer.wrap(literal.getValue())
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt((int) (patch.offset() - literal.getKey()), (int) crcs[patch.slot()]);
        }
        return this;
    }

    /** Writes the file, with holes where the zeros are. */
    void writeTo(Path path) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(image.size());
            for (Map.Entry<Long, byte[]> part : known.entrySet()) {
                file.seek(part.getKey());
                file.write(part.getValue());
            }
        }
    }

    @Override
    public String name() {
        return image.path();
    }

    @Override
    public long size() {
        return image.size();
    }

    @Override
    public void read(long position, ByteBuffer target) throws IOException {
        if (position < 0 || position > size() || target.remaining() > size() - position) {
            throw CheckpointException.truncated(name(), position, "the image ends at byte " + size());
        }
        int start = target.position();
        long end = position + target.remaining();
        target.put(new byte[target.remaining()]);
        Long first = known.floorKey(position);
        for (Map.Entry<Long, byte[]> part :
                known.subMap(first == null ? position : first, end).entrySet()) {
            long from = Math.max(position, part.getKey());
            long to = Math.min(end, part.getKey() + part.getValue().length);
            for (long at = from; at < to; at++) {
                target.put((int) (start + at - position), part.getValue()[(int) (at - part.getKey())]);
            }
        }
    }

    @Override
    public Optional<FileRange> inFile() {
        return Optional.empty();
    }
}
