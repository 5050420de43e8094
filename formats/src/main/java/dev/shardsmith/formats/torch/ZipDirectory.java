package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.LimitSetting;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Where a zip archive's central directory lies, found from the end of the archive.
 *
 * @param offset position of the directory
 * @param size its length in bytes
 * @param entries number of entries it claims
 * @param end position of the first end record, up to which the directory may reach
 * @param commentLength bytes of comment after the end record
 * @param trailing bytes after the comment
 */
record ZipDirectory(long offset, long size, long entries, long end, int commentLength, long trailing) {
    private static final int END_SIGNATURE = 0x06054b50;
    private static final int END_SIZE = 22;
    private static final int LOCATOR_SIGNATURE = 0x07064b50;
    private static final int LOCATOR_SIZE = 20;
    private static final int ZIP64_END_SIGNATURE = 0x06064b50;
    private static final int ZIP64_END_SIZE = 56;
    private static final int LONGEST_COMMENT = 0xffff;

    /** Enough for the end records and the whole directory of a small archive. */
    private static final int FIRST_LOOK = 2048;

    private static final long FULL32 = 0xffff_ffffL;
    private static final int FULL16 = 0xffff;

    static ZipDirectory find(ByteSource source) throws IOException {
        long at = endRecord(source);
        ByteBuffer end = source.readBuffer(at, END_SIZE);
        int commentLength = Short.toUnsignedInt(end.getShort(20));
        long behind = source.size() - at - END_SIZE;
        if (commentLength > behind) {
            throw CheckpointException.truncated(
                    source.name(), at, "the archive's comment of " + commentLength + " bytes is cut off");
        }
        int disk = Short.toUnsignedInt(end.getShort(4));
        int entries16 = Short.toUnsignedInt(end.getShort(10));
        long size32 = Integer.toUnsignedLong(end.getInt(12));
        long offset32 = Integer.toUnsignedLong(end.getInt(16));
        long locatorAt = at - LOCATOR_SIZE;
        if (locatorAt >= 0) {
            ByteBuffer locator = source.readBuffer(locatorAt, LOCATOR_SIZE);
            if (locator.getInt(0) == LOCATOR_SIGNATURE) {
                return zip64(
                        source, locator, locatorAt, entries16, size32, offset32, commentLength, behind - commentLength);
            }
        }
        if (disk != 0 || entries16 != Short.toUnsignedInt(end.getShort(8))) {
            throw unsupported(source, at, "the archive is spread over several disks");
        }
        return new ZipDirectory(offset32, size32, entries16, at, commentLength, behind - commentLength).checked(source);
    }

    private static ZipDirectory zip64(
            ByteSource source,
            ByteBuffer locator,
            long locatorAt,
            int entries16,
            long size32,
            long offset32,
            int commentLength,
            long trailing)
            throws IOException {
        long at = locator.getLong(8);
        if (at < 0 || at > locatorAt - ZIP64_END_SIZE) {
            throw CheckpointException.malformed(
                    source.name(), locatorAt, "the zip64 end record should be at byte " + Long.toUnsignedString(at));
        }
        ByteBuffer end = source.readBuffer(at, ZIP64_END_SIZE);
        if (end.getInt(0) != ZIP64_END_SIGNATURE) {
            // Where something stands before the archive, the record is not where the locator says, but next to it.
            at = locatorAt - ZIP64_END_SIZE;
            end = source.readBuffer(at, ZIP64_END_SIZE);
        }
        if (end.getInt(0) != ZIP64_END_SIGNATURE) {
            throw CheckpointException.malformed(source.name(), at, "the zip64 end record has a wrong signature");
        }
        if (end.getInt(16) != 0 || end.getInt(20) != 0 || end.getLong(24) != end.getLong(32)) {
            throw unsupported(source, at, "the archive is spread over several disks");
        }
        long entries = end.getLong(32);
        long size = end.getLong(40);
        long offset = end.getLong(48);
        boolean agree = (entries16 == FULL16 || entries16 == entries)
                && (size32 == FULL32 || size32 == size)
                && (offset32 == FULL32 || offset32 == offset);
        if (!agree) {
            throw CheckpointException.malformed(
                    source.name(), at, "the two end records of the archive contradict each other");
        }
        return new ZipDirectory(offset, size, entries, at, commentLength, trailing).checked(source);
    }

    private ZipDirectory checked(ByteSource source) throws CheckpointException {
        if (offset < 0 || size < 0 || entries < 0 || offset > end || size > end - offset) {
            throw CheckpointException.malformed(
                    source.name(),
                    end,
                    "the central directory should be at byte " + Long.toUnsignedString(offset) + " and "
                            + Long.toUnsignedString(size) + " bytes long, but its end record is at byte " + end);
        }
        return this;
    }

    /** Bytes between the place where the directory should end and its end record. */
    long gap() {
        return end - offset - size;
    }

    /** Fails if reading the directory would take more than the limits allow, or more than it can hold. */
    void checkClaims(ByteSource source, TorchLimits limits) throws CheckpointException {
        if (entries > limits.records()) {
            throw CheckpointException.of(
                            CheckpointException.Kind.LIMIT,
                            source.name(),
                            "the archive has " + entries + " entries; the limit is " + limits.records())
                    .withHint(LimitSetting.ADVICE);
        }
        if (size > limits.directoryBytes()) {
            throw CheckpointException.of(
                            CheckpointException.Kind.LIMIT,
                            source.name(),
                            "the central directory has " + size + " bytes; the limit is " + limits.directoryBytes())
                    .withHint(LimitSetting.ADVICE);
        }
        if (entries * ZipEntries.ENTRY_SIZE > size) {
            throw CheckpointException.malformed(
                    source.name(),
                    end,
                    "the archive claims " + entries + " entries in a directory of " + size + " bytes");
        }
    }

    /** The last end record, as PyTorch takes it. */
    private static long endRecord(ByteSource source) throws IOException {
        long size = source.size();
        if (size < END_SIZE) {
            throw CheckpointException.truncated(
                    source.name(), size, "a zip archive ends with a record of 22 bytes, but there are only " + size);
        }
        for (int look : new int[] {FIRST_LOOK, LONGEST_COMMENT + END_SIZE}) {
            int length = (int) Math.min(look, size);
            byte[] tail = source.readBytes(size - length, length);
            for (int i = length - END_SIZE; i >= 0; i--) {
                if (tail[i] == 'P' && tail[i + 1] == 'K' && tail[i + 2] == 5 && tail[i + 3] == 6) {
                    return size - length + i;
                }
            }
        }
        throw CheckpointException.truncated(
                        source.name(),
                        size,
                        "the zip archive's central directory is missing: the file has " + size
                                + " bytes and was probably cut off")
                .withHint("copy or download the file again and compare its size with the original");
    }

    private static CheckpointException unsupported(ByteSource source, long at, String problem) {
        return CheckpointException.of(CheckpointException.Kind.UNSUPPORTED, source.name() + " at byte " + at, problem);
    }
}
