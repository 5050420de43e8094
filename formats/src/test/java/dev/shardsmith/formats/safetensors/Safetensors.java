package dev.shardsmith.formats.safetensors;

import dev.shardsmith.formats.ByteSource;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Makes safetensors files of any header, right or wrong. */
final class Safetensors {
    private Safetensors() {}

    /** A file of the header text, padded as the format asks, and {@code dataBytes} bytes 0, 1, 2, …. */
    static ByteSource file(String header, int dataBytes) {
        return ByteSource.of("model.safetensors", bytes(header.getBytes(StandardCharsets.UTF_8), dataBytes));
    }

    static byte[] bytes(byte[] header, int dataBytes) {
        int padded = (header.length + 7) / 8 * 8;
        ByteBuffer file = ByteBuffer.allocate(8 + padded + dataBytes).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(padded).put(header);
        while (file.position() < 8 + padded) {
            file.put((byte) ' ');
        }
        for (int i = 0; i < dataBytes; i++) {
            file.put((byte) i);
        }
        return file.array();
    }

    /** A header of one tensor named w. */
    static String one(String dtype, String shape, String offsets) {
        return "{\"w\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
    }
}
