package dev.shardsmith.testdata;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/** A safetensors file whose elements count up, in {@code F32}, so that any that is misplaced shows. */
public final class CountedWeights {
    private CountedWeights() {}

    /** Writes tensors of these sizes; the first element of the first is 0, and no two of the first 2^24 are equal. */
    public static void write(Path file, Map<String, long[]> shapes) throws IOException {
        write(file, shapes, i -> i);
    }

    /** Writes tensors of these sizes, whose elements are a function of their number in the file. */
    public static void write(Path file, Map<String, long[]> shapes, IntToDoubleFunction values) throws IOException {
        StringBuilder header = new StringBuilder("{");
        long begin = 0;
        for (Map.Entry<String, long[]> entry : shapes.entrySet()) {
            long bytes = 4;
            StringBuilder sizes = new StringBuilder();
            for (long size : entry.getValue()) {
                bytes *= size;
                sizes.append(sizes.isEmpty() ? "" : ",").append(size);
            }
            header.append(header.length() == 1 ? "" : ",")
                    .append("\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%d,%d]}"
                            .formatted(entry.getKey(), sizes, begin, begin + bytes));
            begin += bytes;
        }
        byte[] text = header.append('}').toString().getBytes(StandardCharsets.UTF_8);
        ByteBuffer data = ByteBuffer.allocate(Math.toIntExact(begin)).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; data.hasRemaining(); i++) {
            data.putFloat((float) values.applyAsDouble(i));
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(ByteBuffer.allocate(8)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(text.length)
                .array());
        out.write(text);
        out.write(data.array());
        Files.createDirectories(file.getParent());
        Files.write(file, out.toByteArray());
    }
}
