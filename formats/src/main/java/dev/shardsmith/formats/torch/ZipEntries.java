package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Reads the entries of a zip archive's central directory, whose local headers are not looked at yet. */
final class ZipEntries {
    /** Size of an entry without its name, extra field and comment. */
    static final int ENTRY_SIZE = 46;

    private static final int ENTRY_SIGNATURE = 0x02014b50;
    private static final int ZIP64_FIELD = 1;
    private static final long FULL32 = 0xffff_ffffL;
    private static final ByteBuffer NO_FIELD = ByteBuffer.allocate(0);

    private final ByteSource source;
    private final ZipDirectory directory;
    /** How many bytes stand before the archive, which its offsets do not count. */
    private final long shift;

    private final ZipFindings findings;
    private boolean anyFolds;

    ZipEntries(ByteSource source, ZipDirectory directory, long shift, ZipFindings findings) {
        this.source = source;
        this.directory = directory;
        this.shift = shift;
        this.findings = findings;
    }

    /** How many bytes stand before an archive: the distance between where its directory is and where it should be. */
    static long leadingBytes(ByteSource source, ZipDirectory directory) throws IOException {
        long gap = directory.gap();
        boolean shifted = gap > 0
                && directory.entries() > 0
                && source.readBuffer(directory.offset(), 4).getInt(0) != ENTRY_SIGNATURE
                && source.readBuffer(directory.offset() + gap, 4).getInt(0) == ENTRY_SIGNATURE;
        return shifted ? gap : 0;
    }

    /** All entries in the order of the directory, whose claims have been checked. */
    List<ZipRecord> read() throws IOException {
        ByteBuffer bytes = source.readBuffer(directory.offset() + shift, (int) directory.size());
        List<ZipRecord> entries = new ArrayList<>((int) directory.entries());
        for (long i = 0; i < directory.entries(); i++) {
            long at = directory.offset() + shift + bytes.position();
            if (bytes.remaining() < ENTRY_SIZE || bytes.getInt(bytes.position()) != ENTRY_SIGNATURE) {
                throw CheckpointException.malformed(
                        source.name(),
                        at,
                        "entry " + i + " of the central directory is missing or has a wrong signature");
            }
            entries.add(readEntry(bytes, at));
        }
        if (bytes.hasRemaining()) {
            throw CheckpointException.malformed(
                    source.name(),
                    directory.offset() + shift + bytes.position(),
                    "the central directory has " + bytes.remaining() + " bytes after its last entry");
        }
        return entries;
    }

    /** True if a name that was read may be another one's in lower case; PyTorch's own are in lower case. */
    boolean anyFolds() {
        return anyFolds;
    }

    private ZipRecord readEntry(ByteBuffer bytes, long at) throws IOException {
        int start = bytes.position();
        int nameLength = Short.toUnsignedInt(bytes.getShort(start + 28));
        int extraLength = Short.toUnsignedInt(bytes.getShort(start + 30));
        int commentLength = Short.toUnsignedInt(bytes.getShort(start + 32));
        if (nameLength + extraLength + commentLength > bytes.remaining() - ENTRY_SIZE) {
            throw CheckpointException.malformed(
                    source.name(), at, "an entry of the central directory reaches beyond the directory");
        }
        String name = name(bytes, start + ENTRY_SIZE, nameLength, at);
        long compressedSize = Integer.toUnsignedLong(bytes.getInt(start + 20));
        long size = Integer.toUnsignedLong(bytes.getInt(start + 24));
        long headerOffset = Integer.toUnsignedLong(bytes.getInt(start + 42));
        ByteBuffer wide = extraLength == 0
                ? NO_FIELD
                : extraField(bytes.slice(start + ENTRY_SIZE + nameLength, extraLength)
                        .order(ByteOrder.LITTLE_ENDIAN));
        // The extra field holds exactly those numbers that do not fit, in this order.
        size = size == FULL32 ? next(wide, size) : size;
        compressedSize = compressedSize == FULL32 ? next(wide, compressedSize) : compressedSize;
        headerOffset = headerOffset == FULL32 ? next(wide, headerOffset) : headerOffset;
        bytes.position(start + ENTRY_SIZE + nameLength + extraLength + commentLength);
        if (size < 0 || compressedSize < 0 || headerOffset < 0 || headerOffset > Long.MAX_VALUE - shift) {
            throw CheckpointException.malformed(source.name(), at, "the sizes of entry " + name + " are impossible");
        }
        return new ZipRecord(
                name,
                Short.toUnsignedInt(bytes.getShort(start + 8)),
                Short.toUnsignedInt(bytes.getShort(start + 10)),
                Integer.toUnsignedLong(bytes.getInt(start + 16)),
                compressedSize,
                size,
                headerOffset + shift,
                -1);
    }

    private String name(ByteBuffer bytes, int start, int length, long at) throws CheckpointException {
        if (isUsual(bytes.array(), bytes.arrayOffset() + start, length)) {
            return new String(bytes.array(), bytes.arrayOffset() + start, length, StandardCharsets.ISO_8859_1);
        }
        String name;
        try {
            name = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(bytes.slice(start, length))
                    .toString();
        } catch (CharacterCodingException e) {
            throw CheckpointException.malformed(source.name(), at, "the name of an entry is not UTF-8")
                    .causedBy(e);
        }
        anyFolds |= !name.equals(name.toLowerCase(Locale.ROOT));
        if (!isHarmless(name)) {
            findings.report(
                    ZipProblem.Kind.ILLEGAL_NAME,
                    printable(name),
                    at,
                    "an entry is called \"" + printable(name) + "\", which is no name PyTorch gives");
        }
        return name;
    }

    /** True for a path of lower-case ASCII letters, digits and signs, which nearly all names are and nothing is wrong with. */
    private static boolean isUsual(byte[] bytes, int start, int length) {
        boolean usual = length > 0;
        byte before = '/';
        for (int i = start; usual && i < start + length; i++) {
            byte c = bytes[i];
            // Bytes beyond ASCII are negative.
            usual = c >= ' '
                    && c < 0x7f
                    && c != '\\'
                    && (c < 'A' || c > 'Z')
                    && (before != '/' || c != '/' && c != '.');
            before = c;
        }
        return usual;
    }

    /** False for names that could lead out of a folder if anybody unpacked the archive. */
    private static boolean isHarmless(String name) {
        if (name.isEmpty()) {
            return false;
        }
        char before = '/';
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean odd = c < ' ' || c == 0x7f || c == '\\' || c == '/' && before == '/';
            if (odd || c == '.' && before == '/' && isDots(name, i)) {
                return false;
            }
            before = c;
        }
        return true;
    }

    /** True if a part of a path is {@code .} or {@code ..}. */
    private static boolean isDots(String name, int start) {
        int end = name.indexOf('/', start);
        String part = name.substring(start, end < 0 ? name.length() : end);
        return part.equals(".") || part.equals("..");
    }

    private static String printable(String name) {
        return name.codePoints()
                .limit(100)
                .mapToObj(c -> c < ' ' || c == 0x7f ? "\\x%02x".formatted(c) : Character.toString(c))
                .collect(Collectors.joining());
    }

    private static ByteBuffer extraField(ByteBuffer extra) {
        while (extra.remaining() >= 4) {
            int id = Short.toUnsignedInt(extra.getShort());
            int length = Math.min(Short.toUnsignedInt(extra.getShort()), extra.remaining());
            if (id == ZIP64_FIELD) {
                return extra.slice(extra.position(), length).order(ByteOrder.LITTLE_ENDIAN);
            }
            extra.position(extra.position() + length);
        }
        return NO_FIELD;
    }

    private static long next(ByteBuffer wide, long otherwise) {
        return wide.remaining() >= Long.BYTES ? wide.getLong() : otherwise;
    }
}
