package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * One file of a checkpoint in a manifest.
 *
 * @param path relative to the checkpoint, with forward slashes
 * @param size in bytes
 * @param blockSize bytes in each block but the last
 * @param sums CRC-32C of each block
 */
public record FileEntry(String path, long size, long blockSize, int[] sums) {
    /** Small enough to say where the damage is; the sums are then a 16,000th of the file. */
    static final long BLOCK = 64 * 1024;

    /** Larger blocks for larger files keep the manifest small. */
    static final long LARGE_BLOCK = 1024 * 1024;

    private static final long LARGE_FILE = 4L << 30;

    /** The sums of a file as it is. */
    static FileEntry of(String path, ByteSource file) throws IOException {
        long blockSize = file.size() > LARGE_FILE ? LARGE_BLOCK : BLOCK;
        int[] sums = new int[Math.toIntExact((file.size() + blockSize - 1) / blockSize)];
        ByteBuffer block = ByteBuffer.allocateDirect((int) blockSize);
        for (int i = 0; i < sums.length; i++) {
            sums[i] = sum(file, i * blockSize, blockSize, block);
        }
        return new FileEntry(path, file.size(), blockSize, sums);
    }

    /** The sum of the block that begins at {@code offset}. */
    static int sum(ByteSource file, long offset, long blockSize, ByteBuffer block) throws IOException {
        block.clear().limit((int) Math.min(blockSize, file.size() - offset));
        file.read(offset, block);
        CRC32C crc = new CRC32C();
        crc.update(block.flip());
        return (int) crc.getValue();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof FileEntry that
                && path.equals(that.path)
                && size == that.size
                && blockSize == that.blockSize
                && Arrays.equals(sums, that.sums);
    }

    @Override
    public int hashCode() {
        return 31 * path.hashCode() + Arrays.hashCode(sums);
    }

    @Override
    public String toString() {
        return path + " (" + size + " bytes)";
    }
}
