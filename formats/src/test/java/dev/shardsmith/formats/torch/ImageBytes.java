package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.FileImage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/** Makes the bytes of small file images. */
public final class ImageBytes {
    private ImageBytes() {}

    /** What fills the slots. */
    @FunctionalInterface
    public interface SlotContent {
        byte[] of(String key) throws IOException;
    }

    public static byte[] of(FileImage image, SlotContent content) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(image.size())).order(ByteOrder.LITTLE_ENDIAN);
        for (FileImage.Literal literal : image.literals()) {
            bytes.put((int) literal.offset(), literal.bytes());
        }
        int[] crcs = new int[image.slots().size()];
        for (int i = 0; i < crcs.length; i++) {
            FileImage.Slot slot = image.slots().get(i);
            byte[] data = content.of(slot.key());
            if (data.length != slot.length()) {
                throw new AssertionError("slot " + slot + " is given " + data.length + " bytes");
            }
            bytes.put((int) slot.offset(), data);
            CRC32 crc = new CRC32();
            crc.update(data);
            crcs[i] = (int) crc.getValue();
        }
        for (FileImage.CrcPatch patch : image.crcPatches()) {
            bytes.putInt((int) patch.offset(), crcs[patch.slot()]);
        }
        return bytes.array();
    }

    /** A copy of a file through the graph: read, laid out again, and filled with the same storages. */
    static byte[] rewritten(TorchFile file) throws IOException {
        return of(
                TorchImage.of(file.root())
                        .inFolder(file.folder().isEmpty() ? TorchImage.DEFAULT_FOLDER : file.folder())
                        .build("model.pt"),
                key -> storage(file, key));
    }

    static byte[] storage(TorchFile file, String key) throws IOException {
        ByteSource data = file.storages().stream()
                .filter(storage -> storage.key().equals(key))
                .findFirst()
                .orElseThrow()
                .data();
        return data.readBytes(0, (int) data.size());
    }
}
