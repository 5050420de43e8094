package dev.shardsmith.formats.torch;

/**
 * One entry of a zip archive, as its central directory and its local header have it.
 *
 * @param name full name, with the folder
 * @param flags general purpose flags
 * @param method 0 stored, 8 deflated
 * @param crc CRC-32 of the content
 * @param compressedSize bytes in the archive
 * @param size bytes of the content
 * @param headerOffset position of the local header
 * @param dataOffset position of the first byte of data
 */
record ZipRecord(
        String name,
        int flags,
        int method,
        long crc,
        long compressedSize,
        long size,
        long headerOffset,
        long dataOffset) {
    static final int STORED = 0;
    static final int DEFLATED = 8;

    boolean stored() {
        return method == STORED;
    }

    boolean directory() {
        return name.endsWith("/");
    }

    boolean hasDescriptor() {
        return (flags & 8) != 0;
    }
}
