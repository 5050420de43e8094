package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.EnumMap;
import java.util.Map;

/**
 * Reads runs of adjacent elements of tensors as floats.
 *
 * <p>Its scratch space serves one reading after the other, so that reading a weight in many pieces makes no garbage. Not safe
 * for use by several threads.
 */
final class ElementReader {
    /** Bytes that are read at once, at most. */
    private static final int BLOCK = 1 << 18;

    private final Map<DType, ElementDecoder> decoders = new EnumMap<>(DType.class);
    private final float[] narrow = new float[ElementDecoder.CHUNK];
    private final double[] wide = new double[ElementDecoder.CHUNK];
    private ByteBuffer bytes = ByteBuffer.allocate(0);

    /**
     * Reads elements.
     *
     * @param name of the tensor, for error messages
     * @param offset byte of the tensor's source where they begin
     * @param count how many
     * @param values gets them, from index {@code at} on
     * @throws CheckpointException if the tensor's type has no values that are numbers of a weight
     */
    void read(
            String name,
            StoredTensor tensor,
            long offset,
            long count,
            float[] values,
            int at,
            StoredElements.Observer observer)
            throws IOException {
        ElementDecoder decoder = decoder(name, tensor);
        int size = tensor.dtype().byteSize();
        int most = BLOCK / size;
        int next = at;
        for (long done = 0; done < count; done += most) {
            int block = (int) Math.min(most, count - done);
            ByteBuffer room = room(block * size);
            long start = System.nanoTime();
            tensor.source().read(offset + done * size, room);
            observer.read(start, System.nanoTime(), (long) block * size);
            if (tensor.order() == ByteOrder.BIG_ENDIAN) {
                swap(room.array(), block * size, tensor.dtype());
            }
            for (int first = 0; first < block; first += ElementDecoder.CHUNK) {
                int some = Math.min(ElementDecoder.CHUNK, block - first);
                decode(decoder, first, some, values, next);
                if (tensor.negative()) {
                    negate(values, next, some);
                }
                next += some;
            }
        }
    }

    private ElementDecoder decoder(String name, StoredTensor tensor) throws CheckpointException {
        ElementDecoder known = decoders.get(tensor.dtype());
        if (known != null) {
            return known;
        }
        ElementDecoder decoder = ElementDecoder.of(tensor.dtype())
                .filter(found -> found.domain() != ElementDecoder.Domain.LONG)
                .orElseThrow(() -> CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        tensor.source().name() + ", tensor " + name,
                        "a weight of type " + tensor.dtype().torchName()));
        decoders.put(tensor.dtype(), decoder);
        return decoder;
    }

    private ByteBuffer room(int size) {
        if (bytes.capacity() < size) {
            bytes = ByteBuffer.allocate(size);
        }
        return bytes.clear().limit(size);
    }

    private void decode(ElementDecoder decoder, int first, int count, float[] values, int at) {
        if (decoder.domain() == ElementDecoder.Domain.FLOAT) {
            decoder.floats(bytes, first, count, narrow);
            System.arraycopy(narrow, 0, values, at, count);
            return;
        }
        decoder.doubles(bytes, first, count, wide);
        for (int i = 0; i < count; i++) {
            values[at + i] = (float) wide[i];
        }
    }

    private static void negate(float[] values, int from, int count) {
        for (int i = from; i < from + count; i++) {
            values[i] = -values[i];
        }
    }

    private static void swap(byte[] bytes, int count, DType dtype) {
        int unit = dtype.swapUnit();
        for (int from = 0; from + unit <= count; from += unit) {
            for (int i = 0; i < unit / 2; i++) {
                byte low = bytes[from + i];
                bytes[from + i] = bytes[from + unit - 1 - i];
                bytes[from + unit - 1 - i] = low;
            }
        }
    }
}
