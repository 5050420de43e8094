package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * Bytes of a tensor of pseudo-random numbers, uniform between two bounds, made when they are read.
 *
 * <p>Element i depends on the seed and i alone, so any part can be read in any order, by any number of threads.
 */
final class SeededBytes implements ByteSource {
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private final String name;
    private final DType dtype;
    private final long elements;
    private final long seed;
    private final float low;
    private final float span;

    /**
     * A source of {@code elements} numbers.
     *
     * @param dtype F32, BF16, F16 or F64
     */
    SeededBytes(String name, DType dtype, long elements, long seed, float low, float high) {
        this.name = name;
        this.dtype = dtype;
        this.elements = elements;
        this.seed = mix(seed ^ name.hashCode() * GOLDEN);
        this.low = low;
        this.span = high - low;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public long size() {
        return dtype.bytes(elements);
    }

    @Override
    public Optional<FileRange> inFile() {
        return Optional.empty();
    }

    @Override
    public void read(long position, ByteBuffer target) throws CheckpointException {
        if (position < 0 || position > size() || target.remaining() > size() - position) {
            throw CheckpointException.truncated(name, position, "the sample ends at byte " + size());
        }
        ByteOrder order = target.order();
        target.order(ByteOrder.LITTLE_ENDIAN);
        int width = dtype.byteSize();
        long element = position / width;
        int skip = (int) (position % width);
        while (target.hasRemaining()) {
            long bits = bits(element++) >>> (8 * skip);
            int count = Math.min(width - skip, target.remaining());
            if (count == width && width == 2) {
                target.putShort((short) bits);
            } else if (count == width && width == 4) {
                target.putInt((int) bits);
            } else {
                for (int i = 0; i < count; i++) {
                    target.put((byte) (bits >>> (8 * i)));
                }
            }
            skip = 0;
        }
        target.order(order);
    }

    private long bits(long element) {
        // 24 random bits: every value is exact in float32.
        float unit = (mix(seed + element * GOLDEN) >>> 40) * 0x1p-24f;
        float value = low + span * unit;
        return switch (dtype) {
            case F64 -> Double.doubleToRawLongBits(value);
            case F32 -> Float.floatToRawIntBits(value) & 0xFFFFFFFFL;
            case BF16 -> (Float.floatToRawIntBits(value) + 0x8000) >>> 16 & 0xFFFF;
            case F16 -> half(value);
            default -> throw new IllegalStateException("no samples of " + dtype);
        };
    }

    /** Truncates to float16; samples are normal numbers far from overflow, and tiny ones become 0. */
    private static long half(float value) {
        int bits = Float.floatToRawIntBits(value);
        int exponent = (bits >>> 23 & 0xFF) - 112;
        int sign = bits >>> 16 & 0x8000;
        return exponent <= 0 ? sign : sign | Math.min(exponent, 30) << 10 | bits >>> 13 & 0x3FF;
    }

    private static long mix(long state) {
        long z = (state ^ state >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
