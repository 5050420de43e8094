package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * NumPy's one-array file: magic {@code \x93NUMPY}, version, header length, a Python dict as text, then the numbers.
 *
 * <p>Row-major arrays of float16/32/64 and int32/64, little-endian, up to 2³¹ elements.
 *
 * @param shape sizes, outermost first
 * @param values the elements in row-major order; every supported type fits a double, int64 beyond 2⁵³ is refused
 */
public record NpyFile(int[] shape, double[] values) {
    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    private static final int HEADER_LIMIT = 1 << 16;
    private static final int ALIGNMENT = 64;
    private static final long EXACT = 1L << 53;
    private static final int BLOCK = 1 << 16;
    private static final Pattern DESCR = Pattern.compile("'descr'\\s*:\\s*'([^']*)'");
    private static final Pattern ORDER = Pattern.compile("'fortran_order'\\s*:\\s*(True|False)");
    private static final Pattern SHAPE = Pattern.compile("'shape'\\s*:\\s*\\(([0-9,\\s]*)\\)");

    /**
     * Reads a file.
     *
     * @throws CheckpointException if it is not such a file, is cut, or holds a type that is not supported
     */
    public static NpyFile read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            ByteBuffer start = bytes(channel, file, 0, 12);
            for (byte expected : MAGIC) {
                if (start.get() != expected) {
                    throw CheckpointException.malformed(file.toString(), 0, "not a .npy file");
                }
            }
            int version = start.get();
            start.position(8);
            long length = version == 1 ? start.getShort() & 0xFFFF : start.getInt() & 0xFFFFFFFFL;
            int base = version == 1 ? 10 : 12;
            if (length > HEADER_LIMIT) {
                throw CheckpointException.malformed(file.toString(), 8, "a header of " + length + " bytes");
            }
            String header = StandardCharsets.ISO_8859_1
                    .decode(bytes(channel, file, base, (int) length))
                    .toString();
            return body(channel, file, header, base + length);
        }
    }

    private static NpyFile body(FileChannel channel, Path file, String header, long offset) throws IOException {
        String type = field(DESCR, header, file, "type");
        if (field(ORDER, header, file, "order").equals("True")) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED, file.toString(), "column-major arrays are not supported");
        }
        int[] shape = shape(field(SHAPE, header, file, "shape"), file);
        long elements = 1;
        for (int size : shape) {
            elements = Math.multiplyHigh(elements, size) == 0 ? elements * size : Long.MAX_VALUE;
        }
        int width = width(type, file);
        if (elements > Integer.MAX_VALUE - 8 || elements * width != channel.size() - offset) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    file.toString(),
                    "shape " + Arrays.toString(shape) + " of " + type + " does not fit the " + (channel.size() - offset)
                            + " bytes of data");
        }
        double[] values = new double[(int) elements];
        for (int from = 0; from < values.length; from += BLOCK) {
            int count = Math.min(BLOCK, values.length - from);
            ByteBuffer block = bytes(channel, file, offset + (long) from * width, count * width);
            for (int i = 0; i < count; i++) {
                values[from + i] = number(block, type, file);
            }
        }
        return new NpyFile(shape, values);
    }

    private static String field(Pattern pattern, String header, Path file, String what) throws CheckpointException {
        Matcher matcher = pattern.matcher(header);
        if (!matcher.find()) {
            throw CheckpointException.malformed(file.toString(), 10, "the header names no " + what);
        }
        return matcher.group(1);
    }

    private static int[] shape(String text, Path file) throws CheckpointException {
        try {
            return Arrays.stream(text.split(","))
                    .map(String::strip)
                    .filter(size -> !size.isEmpty())
                    .mapToInt(Integer::parseInt)
                    .toArray();
        } catch (NumberFormatException e) {
            throw CheckpointException.malformed(file.toString(), 10, "shape (" + text + ")")
                    .causedBy(e);
        }
    }

    private static int width(String type, Path file) throws CheckpointException {
        return switch (type) {
            case "<f2" -> 2;
            case "<f4", "<i4" -> 4;
            case "<f8", "<i8" -> 8;
            default ->
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        file.toString(),
                        "elements of type '" + type + "'; supported are <f2, <f4, <f8, <i4, <i8");
        };
    }

    private static double number(ByteBuffer block, String type, Path file) throws CheckpointException {
        return switch (type) {
            case "<f2" -> half(block.getShort());
            case "<f4" -> block.getFloat();
            case "<f8" -> block.getDouble();
            case "<i4" -> block.getInt();
            default -> exact(block.getLong(), file);
        };
    }

    private static double exact(long value, Path file) throws CheckpointException {
        if (Math.abs(value) > EXACT) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED, file.toString(), "the integer " + value + " is too large");
        }
        return value;
    }

    private static double half(short bits) {
        int exponent = bits >> 10 & 0x1F;
        int mantissa = bits & 0x3FF;
        double size;
        if (exponent == 0) {
            size = Math.scalb((double) mantissa, -24);
        } else if (exponent == 0x1F) {
            size = mantissa == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
        } else {
            size = Math.scalb((double) (mantissa | 0x400), exponent - 25);
        }
        return bits < 0 ? -size : size;
    }

    private static ByteBuffer bytes(FileChannel channel, Path file, long offset, int count) throws IOException {
        if (offset > channel.size() - count) {
            throw CheckpointException.truncated(file.toString(), channel.size(), "the file ends in the middle");
        }
        ByteBuffer buffer = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining() && channel.read(buffer, offset + buffer.position()) > 0) {
            continue;
        }
        if (buffer.hasRemaining()) {
            throw CheckpointException.truncated(file.toString(), offset + buffer.position(), "the file ends early");
        }
        return buffer.flip();
    }

    /** The elements rounded to float. */
    public float[] floats() {
        float[] rounded = new float[values.length];
        for (int i = 0; i < rounded.length; i++) {
            rounded[i] = (float) values[i];
        }
        return rounded;
    }

    /** Writes float32 elements of the given shape to a new file. */
    public static void write(Path file, int[] shape, float[] elements) throws IOException {
        write(file, shape, "<f4", Float.BYTES, elements.length, (buffer, i) -> buffer.putFloat(elements[i]));
    }

    /** Writes float64 elements of the given shape to a new file. */
    public static void write(Path file, int[] shape, double[] elements) throws IOException {
        write(file, shape, "<f8", Double.BYTES, elements.length, (buffer, i) -> buffer.putDouble(elements[i]));
    }

    /** Puts one element into a buffer. */
    private interface Elements {
        void put(ByteBuffer buffer, int index);
    }

    private static void write(Path file, int[] shape, String type, int width, int count, Elements elements)
            throws IOException {
        StringBuilder sizes = new StringBuilder();
        for (int size : shape) {
            sizes.append(size).append(',');
        }
        String dict = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
        int padded = (10 + dict.length() + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        String header = dict + " ".repeat(padded - 10 - dict.length() - 1) + "\n";
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        boolean written = false;
        try (channel) {
            ByteBuffer buffer = ByteBuffer.allocate(Math.max(padded, BLOCK)).order(ByteOrder.LITTLE_ENDIAN);
            buffer.put(MAGIC).put((byte) 1).put((byte) 0).putShort((short) header.length());
            buffer.put(header.getBytes(StandardCharsets.ISO_8859_1));
            flush(channel, buffer);
            for (int i = 0; i < count; i++) {
                if (buffer.remaining() < width) {
                    flush(channel, buffer);
                }
                elements.put(buffer, i);
            }
            flush(channel, buffer);
            written = true;
        } finally {
            if (!written) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static void flush(FileChannel channel, ByteBuffer buffer) throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
        buffer.clear();
    }
}
