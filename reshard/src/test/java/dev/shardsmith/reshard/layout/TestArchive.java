package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchImage;
import dev.shardsmith.formats.torch.TorchPickle;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32;

/** A small PyTorch archive made by hand: the tests' own content, without any rule of the product. */
final class TestArchive {
    private final TorchPickle pickle = new TorchPickle();
    private final Map<String, byte[]> storages = new LinkedHashMap<>();

    /** A float32 tensor of whole numbers. */
    PyValue tensor(int[] values, long... shape) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (int value : values) {
            bytes.putFloat(value);
        }
        String key = Integer.toString(storages.size());
        storages.put(key, bytes.array());
        return pickle.tensor(DType.F32, Shape.of(shape), key);
    }

    /** A dict with text keys. */
    static PyDict dict(Map<String, PyValue> entries) {
        PyDict dict = new PyDict();
        entries.forEach(dict::put);
        return dict;
    }

    /** Writes the archive. */
    void write(Path file, PyValue root) throws IOException {
        FileImage image = TorchImage.of(root).build(file.getFileName().toString());
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(image.size())).order(ByteOrder.LITTLE_ENDIAN);
        for (FileImage.Literal literal : image.literals()) {
            bytes.put((int) literal.offset(), literal.bytes());
        }
        int[] crcs = new int[image.slots().size()];
        for (int i = 0; i < crcs.length; i++) {
            FileImage.Slot slot = image.slots().get(i);
            byte[] data = storages.get(slot.key());
            bytes.put((int) slot.offset(), data);
            CRC32 crc = new CRC32();
            crc.update(data);
            crcs[i] = (int) crc.getValue();
        }
        for (FileImage.CrcPatch patch : image.crcPatches()) {
            bytes.putInt((int) patch.offset(), crcs[patch.slot()]);
        }
        Files.createDirectories(file.getParent());
        Files.write(file, bytes.array());
    }
}
