package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The entries of a zip archive, each checked against its local header.
 *
 * <p>Problems that could lead a reader to other bytes than PyTorch reads are errors when {@linkplain #open opened}, and
 * are only noted when {@linkplain #examine examined}.
 */
final class ZipArchive {
    private final ByteSource source;
    private final TorchLimits limits;
    private final ZipFindings findings;
    private final ZipDirectory directory;

    /** Where the records end, counted from the beginning of the source. */
    private final long recordsEnd;

    private final List<ZipRecord> records;
    private final boolean anyFolds;
    private final String folder;
    private final Map<String, ZipRecord> byName;

    private ZipArchive(ByteSource source, TorchLimits limits, boolean strict) throws IOException {
        this.source = source;
        this.limits = limits;
        this.findings = new ZipFindings(source.name(), strict);
        this.directory = ZipDirectory.find(source);
        directory.checkClaims(source, limits);
        long shift = leadingBytes(directory);
        this.recordsEnd = directory.offset() + shift;
        ZipEntries entries = new ZipEntries(source, directory, shift, findings);
        this.records = entries.read();
        this.anyFolds = entries.anyFolds();
        String first = records.isEmpty() ? "" : records.get(0).name();
        this.folder = first.substring(0, Math.max(0, first.indexOf('/')));
        this.byName = new HashMap<>(records.size() * 4 / 3 + 1);
    }

    /** Opens an archive; anything dubious is an error. */
    static ZipArchive open(ByteSource source, TorchLimits limits) throws IOException {
        ZipArchive archive = list(source, limits);
        archive.check();
        return archive;
    }

    /** Opens an archive as far as it can be read, noting problems. */
    static ZipArchive examine(ByteSource source, TorchLimits limits) throws IOException {
        ZipArchive archive = new ZipArchive(source, limits, false);
        archive.check();
        return archive;
    }

    /** Reads the central directory alone; {@link #check} has to follow before anything but {@link #ahead} is asked. */
    static ZipArchive list(ByteSource source, TorchLimits limits) throws IOException {
        return new ZipArchive(source, limits, true);
    }

    /** Where the last archive of a source begins: 0 unless something stands before it. */
    static long start(ByteSource source) throws IOException {
        return ZipEntries.leadingBytes(source, ZipDirectory.find(source));
    }

    /** All entries in the order of the central directory. */
    List<ZipRecord> records() {
        return records;
    }

    /** What was noted. */
    List<ZipProblem> problems() {
        return findings.problems();
    }

    /** The entry of exactly this name. */
    Optional<ZipRecord> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /** The folder that all entries lie in: what stands before the first slash of the first name; empty if there is none. */
    String folder() {
        return folder;
    }

    /**
     * The first entry of a name, checked against its local header, before the archive is {@linkplain #check checked}: what is
     * read from it counts only if that finds nothing wrong.
     */
    Optional<ZipRecord> ahead(String name) throws IOException {
        for (ZipRecord record : records) {
            if (record.name().equals(name)) {
                return Optional.of(headers(new ZipFindings(source.name(), true)).completed(record));
            }
        }
        return Optional.empty();
    }

    /** The bytes of an entry as they lie in the archive; PyTorch writes a CRC-32 of 0 when told to leave it out. */
    ByteSource data(ZipRecord record) throws CheckpointException {
        return dataIn(source, record);
    }

    /** The same bytes in another source over the archive. */
    ByteSource dataIn(ByteSource other, ZipRecord record) throws CheckpointException {
        ByteSource data = other.slice(record.name(), record.dataOffset(), record.compressedSize());
        boolean recorded = record.crc() != 0 && record.size() == record.compressedSize();
        return recorded ? data.withRecordedCrc((int) record.crc()) : data;
    }

    private ZipHeaders headers(ZipFindings report) {
        return new ZipHeaders(source, recordsEnd, limits.headerWindow(recordsEnd, records.size()), report);
    }

    /** Compares the entries with their local headers and with each other. */
    void check() throws IOException {
        headers(findings).complete(records);
        for (ZipRecord record : records) {
            add(record);
        }
        checkFoldedNames();
        if (directory.trailing() > 0) {
            findings.report(
                    ZipProblem.Kind.TRAILING_BYTES,
                    "",
                    source.size() - directory.trailing(),
                    directory.trailing() + " bytes follow the end of the archive");
        }
        if (directory.commentLength() > 0) {
            findings.report(
                    ZipProblem.Kind.COMMENT,
                    "",
                    source.size() - directory.trailing() - directory.commentLength(),
                    "the archive has a comment of " + directory.commentLength() + " bytes");
        }
    }

    private long leadingBytes(ZipDirectory directory) throws IOException {
        long leading = ZipEntries.leadingBytes(source, directory);
        if (leading > 0) {
            findings.report(ZipProblem.Kind.LEADING_BYTES, "", 0, leading + " bytes stand before the archive");
        } else if (directory.gap() > 0) {
            findings.report(
                    ZipProblem.Kind.HIDDEN_BYTES,
                    "",
                    directory.offset() + directory.size(),
                    directory.gap() + " bytes stand between the central directory and its end record");
        }
        return leading;
    }

    private void add(ZipRecord record) throws CheckpointException {
        if (!folder.isEmpty()
                && !(record.name().startsWith(folder) && record.name().startsWith("/", folder.length()))) {
            findings.report(
                    ZipProblem.Kind.OUTSIDE_FOLDER,
                    record.name(),
                    record.headerOffset(),
                    "record " + record.name() + " lies outside the archive's folder " + folder);
        }
        if (byName.put(record.name(), record) != null) {
            duplicate(record);
        }
    }

    /** PyTorch's lookup folds ASCII case; its own names are in lower case, but for the folder's. */
    private void checkFoldedNames() throws CheckpointException {
        Set<String> names = new HashSet<>();
        for (ZipRecord record : anyFolds ? records : List.<ZipRecord>of()) {
            if (!names.add(record.name().toLowerCase(Locale.ROOT)) && byName.get(record.name()) == record) {
                duplicate(record);
            }
        }
    }

    private void duplicate(ZipRecord record) throws CheckpointException {
        findings.report(
                ZipProblem.Kind.DUPLICATE_RECORD,
                record.name(),
                record.headerOffset(),
                "the archive has two records called " + record.name());
    }
}
