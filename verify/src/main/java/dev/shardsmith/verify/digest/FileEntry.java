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
    /** The smallest block: one sector of the usual disk. */
    static final long SMALLEST = 4 * 1024;

    /** The largest block: a checker holds one in memory. */
    static final long LARGEST = 16 * 1024 * 1024;

    /** Sums that a file has about at most; larger files get larger blocks, so that the manifest stays small. */
    private static final long MOST_SUMS = 1 << 16;

    private static long blockSize(long size) {
        long block = SMALLEST;
        while (block < LARGEST && size / block > MOST_SUMS) {
            block *= 2;
        }
        return block;
    }

    /** The sums of a file as it is. */
    static FileEntry of(String path, ByteSource file) throws IOException {
        long blockSize = blockSize(file.size());
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
