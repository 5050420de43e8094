package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
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

    /** What one thread sums up at a time; a multiple of every size of blocks. */
    private static final long SPAN = 4 * LARGEST;

    /** The least that is read at once. */
    private static final long READ = 512 * 1024;

    private static long blockSize(long size) {
        long block = SMALLEST;
        while (block < LARGEST && size / block > MOST_SUMS) {
            block *= 2;
        }
        return block;
    }

    /** The entry of a file whose sums of {@link #spans} are given in their order. */
    static FileEntry of(String path, ByteSource file, List<int[]> sums) {
        return new FileEntry(
                path,
                file.size(),
                blockSize(file.size()),
                sums.stream().flatMapToInt(Arrays::stream).toArray());
    }

    /** The work of making a file's sums, in parts of some size. */
    static List<Callable<int[]>> spans(ByteSource file) {
        long blockSize = blockSize(file.size());
        List<Callable<int[]>> spans = new ArrayList<>();
        for (long offset = 0; offset < file.size(); offset += SPAN) {
            long start = offset;
            long length = Math.min(SPAN, file.size() - offset);
            spans.add(() -> sums(file, start, length, blockSize));
        }
        return spans;
    }

    /** The sums of the blocks of a range that begins with one, read in large steps. */
    static int[] sums(ByteSource file, long offset, long length, long blockSize) throws IOException {
        int[] sums = new int[Math.toIntExact((length + blockSize - 1) / blockSize)];
        int step = (int) (blockSize * Math.max(1, READ / blockSize));
        ByteBuffer bytes = BlockReader.ofThisThread().buffer(0, step);
        CRC32C crc = new CRC32C();
        int block = 0;
        for (long done = 0; done < length; done += step) {
            int count = (int) Math.min(step, length - done);
            bytes.clear().limit(count);
            file.read(offset + done, bytes);
            for (int at = 0; at < count; at += (int) blockSize) {
                crc.reset();
                crc.update(bytes.clear().position(at).limit((int) Math.min(count, at + blockSize)));
                sums[block++] = (int) crc.getValue();
            }
        }
        return sums;
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
