package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A weight as a file holds it.
 *
 * @param name for error messages
 * @param tensor where its elements lie; any strides
 */
public record StoredWeight(String name, StoredTensor tensor) implements WeightSource {
    private static final int BLOCK = 1 << 18;
    /** Of the types with two bits of mantissa; enough for those with three. */
    private static final double EIGHT_BITS = 0x1p-3;

    /** Checks that the elements fit an array. */
    public StoredWeight {
        Math.toIntExact(tensor.shape().elements());
    }

    @Override
    public int elements() {
        return Math.toIntExact(tensor.shape().elements());
    }

    @Override
    public double unit() {
        return unitOf(tensor.dtype());
    }

    /** Half the relative distance of neighbouring values of a type; 0 for float and wider. */
    public static double unitOf(DType dtype) {
        if (dtype == DType.BF16) {
            return 0x1p-9;
        }
        if (dtype == DType.F16) {
            return 0x1p-12;
        }
        return dtype.kind() == DType.Kind.FLOAT && dtype.bits() == 8 ? EIGHT_BITS : 0;
    }

    @Override
    public float[] load() throws IOException {
        float[] values = new float[elements()];
        new Reader(values).rows(tensor);
        return values;
    }

    /** Reads runs of adjacent elements. */
    private final class Reader {
        private final float[] values;
        private final ElementDecoder decoder;
        private final double[] wide = new double[ElementDecoder.CHUNK];
        private int at;

        Reader(float[] values) throws CheckpointException {
            this.values = values;
            this.decoder = ElementDecoder.of(tensor.dtype())
                    .filter(found -> found.domain() != ElementDecoder.Domain.LONG)
                    .orElseThrow(() -> CheckpointException.of(
                            CheckpointException.Kind.UNSUPPORTED,
                            tensor.source().name() + ", tensor " + name,
                            "a weight of type " + tensor.dtype().torchName()));
        }

        /** As deep as the tensor has dimensions. */
        void rows(StoredTensor view) throws IOException {
            if (view.isRowMajor()) {
                run(view.offset(), view.shape().elements());
                return;
            }
            for (long i = 0; i < view.shape().size(0); i++) {
                rows(view.select(0, i));
            }
        }

        private void run(long offset, long count) throws IOException {
            int size = tensor.dtype().byteSize();
            for (long done = 0; done < count; done += BLOCK) {
                int block = (int) Math.min(BLOCK, count - done);
                ByteBuffer bytes = tensor.source().readBuffer(offset + done * size, block * size);
                if (tensor.order() == ByteOrder.BIG_ENDIAN) {
                    swap(bytes.array(), tensor.dtype().swapUnit());
                }
                for (int first = 0; first < block; first += ElementDecoder.CHUNK) {
                    decode(bytes, first, Math.min(ElementDecoder.CHUNK, block - first));
                }
            }
        }

        private void decode(ByteBuffer bytes, int first, int count) {
            float sign = tensor.negative() ? -1 : 1;
            decoder.doubles(bytes, first, count, wide);
            for (int i = 0; i < count; i++) {
                values[at++] = sign * (float) wide[i];
            }
        }

        private static void swap(byte[] bytes, int unit) {
            for (int from = 0; from + unit <= bytes.length; from += unit) {
                for (int i = 0; i < unit / 2; i++) {
                    byte low = bytes[from + i];
                    bytes[from + i] = bytes[from + unit - 1 - i];
                    bytes[from + unit - 1 - i] = low;
                }
            }
        }
    }
}
