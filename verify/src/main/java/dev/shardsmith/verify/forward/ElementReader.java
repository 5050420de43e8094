package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads runs of adjacent elements of one tensor as floats. Not safe for use by several threads. */
final class ElementReader {
    private static final int BLOCK = 1 << 18;

    private final StoredTensor tensor;
    private final ElementDecoder decoder;
    private final StoredElements.Observer observer;
    private final float[] narrow = new float[ElementDecoder.CHUNK];
    private final double[] wide = new double[ElementDecoder.CHUNK];

    private ElementReader(StoredTensor tensor, ElementDecoder decoder, StoredElements.Observer observer) {
        this.tensor = tensor;
        this.decoder = decoder;
        this.observer = observer;
    }

    /**
     * A reader.
     *
     * @param name of the tensor, for error messages
     * @throws CheckpointException if its type has no values that are numbers of a weight
     */
    static ElementReader of(String name, StoredTensor tensor, StoredElements.Observer observer)
            throws CheckpointException {
        ElementDecoder decoder = ElementDecoder.of(tensor.dtype())
                .filter(found -> found.domain() != ElementDecoder.Domain.LONG)
                .orElseThrow(() -> CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        tensor.source().name() + ", tensor " + name,
                        "a weight of type " + tensor.dtype().torchName()));
        return new ElementReader(tensor, decoder, observer);
    }

    /** Reads {@code count} elements from byte {@code offset} of the tensor's source to index {@code at} of an array. */
    void read(long offset, long count, float[] values, int at) throws IOException {
        int size = tensor.dtype().byteSize();
        int next = at;
        for (long done = 0; done < count; done += BLOCK) {
            int block = (int) Math.min(BLOCK, count - done);
            long start = System.nanoTime();
            ByteBuffer bytes = tensor.source().readBuffer(offset + done * size, block * size);
            observer.read(start, System.nanoTime(), (long) block * size);
            if (tensor.order() == ByteOrder.BIG_ENDIAN) {
                swap(bytes.array(), tensor.dtype());
            }
            for (int first = 0; first < block; first += ElementDecoder.CHUNK) {
                int some = Math.min(ElementDecoder.CHUNK, block - first);
                decode(bytes, first, some, values, next);
                next += some;
            }
        }
    }

    private void decode(ByteBuffer bytes, int first, int count, float[] values, int at) {
        if (decoder.domain() == ElementDecoder.Domain.FLOAT) {
            decoder.floats(bytes, first, count, narrow);
        } else {
            decoder.doubles(bytes, first, count, wide);
            for (int i = 0; i < count; i++) {
                narrow[i] = (float) wide[i];
            }
        }
        if (tensor.negative()) {
            for (int i = 0; i < count; i++) {
                narrow[i] = -narrow[i];
            }
        }
        System.arraycopy(narrow, 0, values, at, count);
    }

    private static void swap(byte[] bytes, DType dtype) {
        int unit = dtype.swapUnit();
        for (int from = 0; from + unit <= bytes.length; from += unit) {
            for (int i = 0; i < unit / 2; i++) {
                byte low = bytes[from + i];
                bytes[from + i] = bytes[from + unit - 1 - i];
                bytes[from + unit - 1 - i] = low;
            }
        }
    }
}
