package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Writes the pickle of {@code .metadata}, protocol 2, one entry after the other.
 *
 * <p>A graph of nodes for a million chunks would take gigabytes. Only what is used again goes into the memo: classes, names,
 * and one description of each element type.
 */
final class DcpMetadataWriter {
    private static final String METADATA = "torch.distributed.checkpoint.metadata";
    private static final String FILESYSTEM = "torch.distributed.checkpoint.filesystem";
    private static final String VERSION = "1.0.0";

    /** As CPython: a thousand entries per SETITEMS keep the reader's stack small. */
    private static final int BATCH = 1000;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final Map<String, Integer> memo = new HashMap<>();
    private int inBatch;

    /** Where an item was laid out. */
    record Item(int file, long offset, long length) {}

    static String fileName(int file) {
        return "__" + file + "_0.distcp";
    }

    void begin() {
        op(0x80);
        op(2);
        newObject(METADATA, "Metadata");
        op('}');
        op('(');
        string("state_dict_metadata");
        op('}');
    }

    void tensor(String name, DType dtype, Shape shape, List<DcpImage.Chunk> chunks) {
        batch();
        string(name);
        newObject(METADATA, "TensorStorageMetadata");
        op('}');
        op('(');
        string("properties");
        properties(dtype);
        string("size");
        size(shape.toArray());
        string("chunks");
        op(']');
        for (int i = 0; i < chunks.size(); i++) {
            if (i % BATCH == 0) {
                op('(');
            }
            newObject(METADATA, "ChunkStorageMetadata");
            op('}');
            op('(');
            string("offsets");
            size(chunks.get(i).offsets());
            string("sizes");
            size(chunks.get(i).sizes());
            op('u');
            op('b');
            if (i % BATCH == BATCH - 1 || i == chunks.size() - 1) {
                op('e');
            }
        }
        op('u');
        op('b');
    }

    void object(String name) {
        batch();
        string(name);
        newObject(METADATA, "BytesStorageMetadata");
    }

    void beginPaths(boolean any) {
        endBatch();
        string("planner_data");
        op(any ? '}' : 'N');
    }

    void path(String name, List<? extends PyValue> path) {
        batch();
        string(name);
        op('(');
        for (PyValue part : path) {
            if (part instanceof PyStr key) {
                string(key.value());
            } else if (part instanceof PyInt index) {
                integer(index.asLong().orElseThrow());
            } else {
                throw new IllegalArgumentException("a path of strings and ints, not " + part);
            }
        }
        op('t');
    }

    void beginPlaces() {
        endBatch();
        string("storage_data");
        op('}');
    }

    void place(String name, Optional<long[]> offsets, int index, Item item) {
        batch();
        newObject(METADATA, "MetadataIndex");
        op('}');
        op('(');
        string("fqn");
        string(name);
        string("index");
        if (offsets.isPresent()) {
            integer(index);
            string("offset");
            size(offsets.get());
        } else {
            op('N');
        }
        op('u');
        op('b');
        newObject(FILESYSTEM, "_StorageInfo");
        op('}');
        op('(');
        string("relative_path");
        string(fileName(item.file()));
        string("offset");
        integer(item.offset());
        string("length");
        integer(item.length());
        op('u');
        op('b');
    }

    byte[] end() {
        endBatch();
        string("storage_meta");
        op('N');
        string("version");
        string(VERSION);
        op('u');
        op('b');
        op('.');
        return out.toByteArray();
    }

    /** State of TensorProperties: element type, layout, requires_grad, memory format, pin_memory. */
    private void properties(DType dtype) {
        if (recall("properties " + dtype)) {
            return;
        }
        newObject(METADATA, "TensorProperties");
        remember("properties " + dtype);
        op('(');
        global("torch", dtype.torchName());
        if (!recall("layout")) {
            global("torch.serialization", "_get_layout");
            string("torch.strided");
            op(0x85);
            op('R');
            remember("layout");
        }
        op(0x89);
        if (!recall("memory format")) {
            global(METADATA, "_MEM_FORMAT_ENCODING");
            integer(0);
            op(0x85);
            op('R');
            remember("memory format");
        }
        op(0x89);
        op('t');
        op('b');
    }

    private void size(long[] sizes) {
        global("torch", "Size");
        op('(');
        for (long size : sizes) {
            integer(size);
        }
        op('t');
        op(0x85);
        op('R');
    }

    private void newObject(String module, String name) {
        global(module, name);
        op(')');
        op(0x81);
    }

    private void global(String module, String name) {
        if (!recall("global " + module + " " + name)) {
            op('c');
            bytes(module + "\n" + name + "\n");
            remember("global " + module + " " + name);
        }
    }

    private void string(String text) {
        if (!recall("string " + text)) {
            byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            op('X');
            littleEndian(utf8.length, 4);
            out.write(utf8, 0, utf8.length);
            remember("string " + text);
        }
    }

    private void integer(long value) {
        if (value >= 0 && value < 1 << 8) {
            op('K');
            littleEndian(value, 1);
        } else if (value >= 0 && value < 1 << 16) {
            op('M');
            littleEndian(value, 2);
        } else if (value == (int) value) {
            op('J');
            littleEndian(value, 4);
        } else {
            op(0x8a);
            op(8);
            littleEndian(value, 8);
        }
    }

    private boolean recall(String what) {
        Integer number = memo.get(what);
        if (number == null) {
            return false;
        }
        numbered('h', 'j', number);
        return true;
    }

    private void remember(String what) {
        memo.put(what, memo.size());
        numbered('q', 'r', memo.size() - 1);
    }

    private void numbered(int shortOp, int longOp, int number) {
        boolean small = number < 1 << 8;
        op(small ? shortOp : longOp);
        littleEndian(number, small ? 1 : 4);
    }

    /** Before each entry of a large dict. */
    private void batch() {
        if (inBatch == BATCH) {
            endBatch();
        }
        if (inBatch++ == 0) {
            op('(');
        }
    }

    private void endBatch() {
        if (inBatch > 0) {
            op('u');
        }
        inBatch = 0;
    }

    private void bytes(String ascii) {
        byte[] bytes = ascii.getBytes(StandardCharsets.US_ASCII);
        out.write(bytes, 0, bytes.length);
    }

    private void littleEndian(long value, int count) {
        for (int i = 0; i < count; i++) {
            op((int) (value >>> (8 * i)));
        }
    }

    private void op(int value) {
        out.write(value);
    }
}
