package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The entries of a zip archive, each checked against its local header.
 *
 * <p>Problems that could lead a reader to other bytes than PyTorch reads are errors when {@linkplain #open opened}, and
 * are only noted when {@linkplain #examine examined}.
 */
final class ZipArchive {
    private static final int ENTRY_SIGNATURE = 0x02014b50;
    private static final int ENTRY_SIZE = 46;
    private static final int HEADER_SIGNATURE = 0x04034b50;
    private static final int HEADER_SIZE = 30;
    private static final int ZIP64_FIELD = 1;
    private static final long FULL32 = 0xffff_ffffL;

    /** Encrypted, strongly encrypted, or with a hidden directory. */
    private static final int UNREADABLE_FLAGS = 1 | 1 << 6 | 1 << 13;

    /** Bytes between the end of one record and the next header: none, or a data descriptor in one of its four forms. */
    private static final List<Long> DESCRIPTOR_SIZES = List.of(0L, 12L, 16L, 20L, 24L);

    private final ByteSource source;
    private final boolean strict;
    private final TorchLimits limits;
    private final List<ZipProblem> problems = new ArrayList<>();
    private final List<ZipRecord> records = new ArrayList<>();
    private final Map<String, ZipRecord> byName = new HashMap<>();
    private final Set<String> foldedNames = new HashSet<>();
    private String folder = "";
    private ByteBuffer window = ByteBuffer.allocate(0);
    private long windowStart;

    private ZipArchive(ByteSource source, boolean strict, TorchLimits limits) {
        this.source = source;
        this.strict = strict;
        this.limits = limits;
    }

    /** Opens an archive; anything dubious is an error. */
    static ZipArchive open(ByteSource source, TorchLimits limits) throws IOException {
        ZipArchive archive = new ZipArchive(source, true, limits);
        archive.read();
        return archive;
    }

    /** Opens an archive as far as it can be read, noting problems. */
    static ZipArchive examine(ByteSource source, TorchLimits limits) throws IOException {
        ZipArchive archive = new ZipArchive(source, false, limits);
        archive.read();
        return archive;
    }

    /** Where the last archive of a source begins: 0 unless something stands before it. */
    static long start(ByteSource source) throws IOException {
        ZipDirectory directory = ZipDirectory.find(source);
        long gap = directory.end() - directory.offset() - directory.size();
        boolean shifted = gap > 0
                && directory.entries() > 0
                && source.readBuffer(directory.offset(), 4).getInt(0) != ENTRY_SIGNATURE
                && source.readBuffer(directory.offset() + gap, 4).getInt(0) == ENTRY_SIGNATURE;
        return shifted ? gap : 0;
    }

    /** All entries in the order of the central directory. */
    List<ZipRecord> records() {
        return records;
    }

    /** What was noted. */
    List<ZipProblem> problems() {
        return problems;
    }

    /** The entry of exactly this name. */
    Optional<ZipRecord> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /** The folder that all entries lie in: what stands before the first slash of the first name; empty if there is none. */
    String folder() {
        String first = records.isEmpty() ? "" : records.get(0).name();
        return first.substring(0, Math.max(0, first.indexOf('/')));
    }

    /** The bytes of an entry as they lie in the archive. */
    ByteSource data(ZipRecord record) throws CheckpointException {
        return source.slice(record.name(), record.dataOffset(), record.compressedSize());
    }

    private void read() throws IOException {
        ZipDirectory directory = ZipDirectory.find(source);
        checkClaims(directory);
        long shift = leadingBytes(directory);
        List<ZipRecord> entries = readDirectory(directory, shift);
        readHeaders(entries, directory.offset() + shift);
        for (ZipRecord record : entries) {
            add(record);
        }
        if (directory.trailing() > 0) {
            report(
                    ZipProblem.Kind.TRAILING_BYTES,
                    "",
                    source.size() - directory.trailing(),
                    directory.trailing() + " bytes follow the end of the archive");
        }
        if (directory.commentLength() > 0) {
            report(
                    ZipProblem.Kind.COMMENT,
                    "",
                    source.size() - directory.trailing() - directory.commentLength(),
                    "the archive has a comment of " + directory.commentLength() + " bytes");
        }
    }

    private void checkClaims(ZipDirectory directory) throws CheckpointException {
        if (directory.entries() > limits.records()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    source.name(),
                    "the archive has " + directory.entries() + " entries; the limit is " + limits.records());
        }
        if (directory.size() > limits.directoryBytes()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    source.name(),
                    "the central directory has " + directory.size() + " bytes; the limit is "
                            + limits.directoryBytes());
        }
        if (directory.entries() * ENTRY_SIZE > directory.size()) {
            throw CheckpointException.malformed(
                    source.name(),
                    directory.end(),
                    "the archive claims " + directory.entries() + " entries in a directory of " + directory.size()
                            + " bytes");
        }
    }

    /** How many bytes stand before the archive: the distance between where the directory is and where it should be. */
    private long leadingBytes(ZipDirectory directory) throws IOException {
        long gap = directory.end() - directory.offset() - directory.size();
        if (gap > 0
                && directory.entries() > 0
                && source.readBuffer(directory.offset(), 4).getInt(0) != ENTRY_SIGNATURE
                && source.readBuffer(directory.offset() + gap, 4).getInt(0) == ENTRY_SIGNATURE) {
            report(ZipProblem.Kind.LEADING_BYTES, "", 0, gap + " bytes stand before the archive");
            return gap;
        }
        if (gap > 0) {
            report(
                    ZipProblem.Kind.HIDDEN_BYTES,
                    "",
                    directory.offset() + directory.size(),
                    gap + " bytes stand between the central directory and its end record");
        }
        return 0;
    }

    private List<ZipRecord> readDirectory(ZipDirectory directory, long shift) throws IOException {
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
            entries.add(readEntry(bytes, at, shift));
        }
        if (bytes.hasRemaining()) {
            throw CheckpointException.malformed(
                    source.name(),
                    directory.offset() + shift + bytes.position(),
                    "the central directory has " + bytes.remaining() + " bytes after its last entry");
        }
        return entries;
    }

    private ZipRecord readEntry(ByteBuffer bytes, long at, long shift) throws IOException {
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
        ByteBuffer extra =
                bytes.slice(start + ENTRY_SIZE + nameLength, extraLength).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer wide = extraField(extra);
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
        String name;
        if (isPlain(bytes, start, length)) {
            name = new String(bytes.array(), bytes.arrayOffset() + start, length, StandardCharsets.ISO_8859_1);
        } else {
            try {
                name = StandardCharsets.UTF_8
                        .newDecoder()
                        .decode(bytes.slice(start, length))
                        .toString();
            } catch (CharacterCodingException e) {
                throw CheckpointException.malformed(source.name(), at, "the name of an entry is not UTF-8")
                        .causedBy(e);
            }
        }
        if (!isHarmless(name)) {
            report(
                    ZipProblem.Kind.ILLEGAL_NAME,
                    printable(name),
                    at,
                    "an entry is called \"" + printable(name) + "\", which is no name PyTorch gives");
        }
        return name;
    }

    /** True for ASCII, which nearly all names are. */
    private static boolean isPlain(ByteBuffer bytes, int start, int length) {
        int signs = 0;
        for (int i = 0; i < length; i++) {
            signs |= bytes.get(start + i);
        }
        return signs >= 0;
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
        return ByteBuffer.allocate(0);
    }

    private static long next(ByteBuffer wide, long otherwise) {
        return wide.remaining() >= Long.BYTES ? wide.getLong() : otherwise;
    }

    /** Completes the entries from their local headers, in the order they lie in the file, so that overlaps show. */
    private void readHeaders(List<ZipRecord> entries, long directoryOffset) throws IOException {
        List<Integer> inFileOrder = fileOrder(entries);
        long last = 0;
        boolean descriptor = false;
        for (int i : inFileOrder) {
            ZipRecord record = readHeader(entries.get(i), directoryOffset);
            entries.set(i, record);
            checkPlace(record, last, descriptor);
            last = record.dataOffset() + record.compressedSize();
            descriptor = record.hasDescriptor();
        }
    }

    private static List<Integer> fileOrder(List<ZipRecord> entries) {
        List<Integer> order = new ArrayList<>(entries.size());
        boolean sorted = true;
        for (int i = 0; i < entries.size(); i++) {
            order.add(i);
            sorted &= i == 0
                    || entries.get(i - 1).headerOffset() <= entries.get(i).headerOffset();
        }
        if (!sorted) {
            order.sort(Comparator.comparingLong(i -> entries.get(i).headerOffset()));
        }
        return order;
    }

    private void checkPlace(ZipRecord record, long last, boolean descriptor) throws CheckpointException {
        long gap = record.headerOffset() - last;
        if (gap < 0) {
            report(
                    ZipProblem.Kind.OVERLAPPING_RECORDS,
                    record.name(),
                    record.headerOffset(),
                    "record " + record.name() + " begins inside the one before it, which ends at byte " + last);
        } else if (last == 0 && gap > 0) {
            report(ZipProblem.Kind.HIDDEN_BYTES, record.name(), 0, gap + " bytes stand before the first record");
        } else if (gap > 0 && !(descriptor && DESCRIPTOR_SIZES.contains(gap))) {
            report(
                    ZipProblem.Kind.HIDDEN_BYTES,
                    record.name(),
                    last,
                    gap + " bytes stand before record " + record.name());
        }
    }

    /** The record with its data's position. */
    private ZipRecord readHeader(ZipRecord entry, long directoryOffset) throws IOException {
        long at = entry.headerOffset();
        if (at > directoryOffset - HEADER_SIZE) {
            throw CheckpointException.malformed(
                    source.name(),
                    at,
                    "record " + entry.name() + " should begin at byte " + at + ", but the records end at byte "
                            + directoryOffset);
        }
        ByteBuffer header = look(at, HEADER_SIZE + entry.name().length() * 3, directoryOffset);
        if (header.getInt(0) != HEADER_SIGNATURE) {
            throw CheckpointException.malformed(
                    source.name(), at, "the local header of record " + entry.name() + " has a wrong signature");
        }
        int nameLength = Short.toUnsignedInt(header.getShort(26));
        int extraLength = Short.toUnsignedInt(header.getShort(28));
        long dataOffset = at + HEADER_SIZE + nameLength + extraLength;
        if (dataOffset > directoryOffset || entry.compressedSize() > directoryOffset - dataOffset) {
            throw CheckpointException.truncated(
                    source.name(),
                    at,
                    "record " + entry.name() + " claims " + entry.compressedSize()
                            + " bytes, but the records end at byte " + directoryOffset);
        }
        checkHeader(entry, header, nameLength);
        return new ZipRecord(
                entry.name(),
                entry.flags(),
                entry.method(),
                entry.crc(),
                entry.compressedSize(),
                entry.size(),
                at,
                dataOffset);
    }

    private void checkHeader(ZipRecord entry, ByteBuffer header, int nameLength) throws CheckpointException {
        int flags = Short.toUnsignedInt(header.getShort(6));
        if (((flags | entry.flags()) & UNREADABLE_FLAGS) != 0) {
            report(
                    ZipProblem.Kind.ENCRYPTED_RECORD,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is marked as encrypted");
        }
        boolean sameName = header.remaining() >= HEADER_SIZE + nameLength && sameName(header, nameLength, entry.name());
        int method = Short.toUnsignedInt(header.getShort(8));
        boolean sameCrc = agrees(Integer.toUnsignedLong(header.getInt(14)), entry.crc());
        boolean sameSizes = agrees(Integer.toUnsignedLong(header.getInt(18)), entry.compressedSize())
                && agrees(Integer.toUnsignedLong(header.getInt(22)), entry.size());
        if (!sameName || method != entry.method() || !sameCrc || !sameSizes) {
            String what = !sameName ? "name" : method != entry.method() ? "method" : !sameCrc ? "CRC" : "size";
            report(
                    ZipProblem.Kind.HEADER_MISMATCH,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " has another " + what
                            + " in its local header than in the central directory");
        }
        if (entry.method() != ZipRecord.STORED && entry.method() != ZipRecord.DEFLATED) {
            report(
                    ZipProblem.Kind.UNKNOWN_METHOD,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is compressed by method " + entry.method());
        } else if (!entry.stored()) {
            report(
                    ZipProblem.Kind.COMPRESSED_RECORD,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is compressed");
        } else if (entry.compressedSize() != entry.size()) {
            report(
                    ZipProblem.Kind.HEADER_MISMATCH,
                    entry.name(),
                    entry.headerOffset(),
                    "record " + entry.name() + " is stored, but has two sizes: " + entry.compressedSize() + " and "
                            + entry.size());
        }
    }

    private static boolean sameName(ByteBuffer header, int length, String name) {
        boolean plain = length == name.length();
        for (int i = 0; plain && i < length; i++) {
            plain = header.get(HEADER_SIZE + i) == name.charAt(i);
        }
        return plain
                || header.slice(HEADER_SIZE, length).equals(ByteBuffer.wrap(name.getBytes(StandardCharsets.UTF_8)));
    }

    /** Local headers may leave a number to the data descriptor (0) or to the extra field. */
    private static boolean agrees(long local, long central) {
        return local == 0 || local == FULL32 || local == central;
    }

    /** A view of at least a local header at a position; reads a few of them at a time. */
    private ByteBuffer look(long at, int wanted, long end) throws IOException {
        int need = (int) Math.min(wanted, end - at);
        if (at < windowStart || at + need > windowStart + window.limit()) {
            int length = (int) Math.min(Math.max(need, limits.headerWindow()), end - at);
            window = source.readBuffer(at, length);
            windowStart = at;
        }
        int start = (int) (at - windowStart);
        return window.slice(start, window.limit() - start).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void add(ZipRecord record) throws CheckpointException {
        records.add(record);
        if (records.size() == 1) {
            folder = folder();
        }
        if (!folder.isEmpty()
                && !(record.name().startsWith(folder) && record.name().startsWith("/", folder.length()))) {
            report(
                    ZipProblem.Kind.OUTSIDE_FOLDER,
                    record.name(),
                    record.headerOffset(),
                    "record " + record.name() + " lies outside the archive's folder " + folder);
        }
        // PyTorch's lookup folds ASCII case.
        if (!foldedNames.add(record.name().toLowerCase(Locale.ROOT))) {
            report(
                    ZipProblem.Kind.DUPLICATE_RECORD,
                    record.name(),
                    record.headerOffset(),
                    "the archive has two records called " + record.name());
        }
        byName.put(record.name(), record);
    }

    private void report(ZipProblem.Kind kind, String record, long offset, String text) throws CheckpointException {
        if (strict && kind.fatal()) {
            throw CheckpointException.malformed(source.name(), offset, text);
        }
        problems.add(new ZipProblem(kind, record, offset, text));
    }
}
