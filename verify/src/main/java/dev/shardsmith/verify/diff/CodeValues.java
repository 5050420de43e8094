package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** What each code of a 16-bit floating-point type means. Made when a type is first met; the entry of a code is at its number. */
final class CodeValues {
    private static final int CODES = 1 << Short.SIZE;

    private CodeValues() {}

    private static final class Brain {
        static final double[] VALUES = of(DType.BF16);
    }

    private static final class Half {
        static final double[] VALUES = of(DType.F16);
    }

    /** The values of {@code bfloat16}. */
    static double[] brain() {
        return Brain.VALUES;
    }

    /** The values of {@code float16}. */
    static double[] half() {
        return Half.VALUES;
    }

    private static double[] of(DType dtype) {
        ElementDecoder decoder = ElementDecoder.of(dtype).orElseThrow();
        ByteBuffer codes =
                ByteBuffer.allocate(ElementDecoder.CHUNK * Short.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        float[] decoded = new float[ElementDecoder.CHUNK];
        double[] values = new double[CODES];
        for (int first = 0; first < CODES; first += ElementDecoder.CHUNK) {
            for (int i = 0; i < ElementDecoder.CHUNK; i++) {
                codes.putChar(i * Short.BYTES, (char) (first + i));
            }
            decoder.floats(codes, 0, ElementDecoder.CHUNK, decoded);
            for (int i = 0; i < ElementDecoder.CHUNK; i++) {
                values[first + i] = decoded[i];
            }
        }
        return values;
    }
}
