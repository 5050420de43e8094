package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.ElementDecoder.Domain;
import java.math.BigDecimal;
import java.nio.ByteBuffer;

/**
 * One side's chunk of values where one of the two sides holds 64-bit integers, which doubles cannot hold exactly.
 *
 * <p>Not safe for use by several threads: it holds one chunk.
 */
final class ExactNumbers {
    /** Up to this magnitude every integer is a double. */
    private static final long IN_DOUBLE = 1L << 53;

    private final ElementDecoder decoder;
    private final double[] doubles;
    private final long[] longs = new long[ElementDecoder.CHUNK];

    /** Values of one type, whose roundings are put into {@code doubles}. */
    ExactNumbers(ElementDecoder decoder, double[] doubles) {
        this.decoder = decoder;
        this.doubles = doubles;
    }

    void load(ByteBuffer block, int first, int count) {
        decoder.doubles(block, first, count, doubles);
        if (decoder.domain() == Domain.LONG) {
            decoder.longs(block, first, count, longs);
        }
    }

    /** The magnitude of the difference of two finite values, rounded once; it is 0 only if they are equal. */
    static double difference(ExactNumbers left, ExactNumbers right, int i) {
        return left.isDouble(i) && right.isDouble(i)
                ? Math.abs(left.doubles[i] - right.doubles[i])
                : exact(left, right, i).doubleValue();
    }

    /** The magnitude of the difference of two integers, or the largest one that fits. */
    static long steps(ExactNumbers left, ExactNumbers right, int i) {
        return left.isDouble(i) && right.isDouble(i)
                ? (long) Math.abs(left.doubles[i] - right.doubles[i])
                : exact(left, right, i).min(BigDecimal.valueOf(Long.MAX_VALUE)).longValue();
    }

    private static BigDecimal exact(ExactNumbers left, ExactNumbers right, int i) {
        return left.exact(i).subtract(right.exact(i)).abs();
    }

    private boolean isDouble(int i) {
        if (decoder.domain() != Domain.LONG) {
            return true;
        }
        long least = decoder.dtype() == DType.U64 ? 0 : -IN_DOUBLE;
        return longs[i] >= least && longs[i] <= IN_DOUBLE;
    }

    private BigDecimal exact(int i) {
        if (decoder.domain() != Domain.LONG) {
            return new BigDecimal(doubles[i]);
        }
        return decoder.dtype() == DType.U64
                ? new BigDecimal(Long.toUnsignedString(longs[i]))
                : BigDecimal.valueOf(longs[i]);
    }
}
