package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Archives of more bytes than 32 bits count, and of more records than 16 bits count. */
final class LargeArchives {
    static final long FIVE_GIB = 5L << 30;
    static final int MANY = 70_000;
    static final byte[] LAST = {1, 2, 3, 4, 5, 6, 7, 8};

    private LargeArchives() {}

    /** A list of two tensors of five gibibytes and a small one after them, each zeros up to its end. */
    static ImageSource threeTensors() throws CheckpointException {
        TorchPickle pickle = new TorchPickle();
        PyList root = new PyList(List.of(
                pickle.tensor(DType.F32, Shape.of(FIVE_GIB / 4), "0"),
                pickle.tensor(DType.U8, Shape.of(5, 1 << 30), "1"),
                pickle.tensor(DType.F32, Shape.of(4), "2")));
        return source(root).with("1", 8, LAST).with("2", 4, floats(3));
    }

    /** A dict of seventy thousand tensors {@code t0}, {@code t1}, … of one float; some hold their number, others zero. */
    static ImageSource manyTensors() throws CheckpointException {
        TorchPickle pickle = new TorchPickle();
        List<PyEntry> entries = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            PyValue tensor = pickle.tensor(DType.F32, Shape.of(1), Integer.toString(i));
            entries.add(new PyEntry(new PyStr("t" + i), tensor));
        }
        ImageSource source = source(new PyDict(entries));
        for (int i : List.of(65_535, 65_536, MANY - 1)) {
            source.with(Integer.toString(i), 4, floats(i));
        }
        return source;
    }

    static ImageSource source(PyValue root) throws CheckpointException {
        return new ImageSource(TorchImage.of(root).build("large.pt"));
    }

    static byte[] floats(float value) {
        return ByteBuffer.allocate(4)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putFloat(value)
                .array();
    }
}
