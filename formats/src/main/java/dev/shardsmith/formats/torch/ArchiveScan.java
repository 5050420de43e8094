package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyGraph;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyPersistent;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PythonText;
import dev.shardsmith.formats.pickle.Unpickled;
import java.io.IOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** Scans the records of one archive: their container, their CRCs, their sizes, and the pickles among them. */
final class ArchiveScan {
    private static final Pattern STORAGE = Pattern.compile("(data|constants)/[^/]+");

    private final ScanNotes notes;
    private final TorchLimits limits;
    private final ByteSource source;
    private final ZipArchive zip;

    ArchiveScan(ScanNotes notes, TorchLimits limits, ByteSource source, ZipArchive zip) {
        this.notes = notes;
        this.limits = limits;
        this.source = source;
        this.zip = zip;
    }

    /** Looks into a record that is no storage. */
    @FunctionalInterface
    interface Content {
        void scan(ZipRecord record, ByteSource content) throws IOException;
    }

    void scan(Content content) throws IOException {
        for (ZipProblem problem : zip.problems()) {
            String code = problem.kind().name().toLowerCase(Locale.ROOT).replace('_', '-');
            if (problem.kind().fatal()) {
                notes.danger(code, source.name(), problem.offset(), problem.text());
            } else {
                notes.warning(code, source.name(), problem.offset(), problem.text());
            }
        }
        boolean crcsRecorded = zip.records().stream().anyMatch(record -> record.crc() != 0);
        for (ZipRecord record : zip.records()) {
            record(record, crcsRecorded, content);
        }
        zip.find(zip.folder() + "/data.pkl").ifPresent(this::checkStorages);
    }

    private void record(ZipRecord record, boolean crcsRecorded, Content scan) throws IOException {
        String inFolder = record.name().substring(record.name().indexOf('/') + 1);
        if (inFolder.startsWith("code/") && inFolder.endsWith(".py")) {
            notes.warning(
                    "program",
                    source.name() + "!" + record.name(),
                    record.headerOffset(),
                    "the archive holds program code");
        }
        try {
            ByteSource content = new RecordContent(limits).of(zip, record);
            checkCrc(record, content, crcsRecorded);
            if (!STORAGE.matcher(inFolder).matches() && record.size() > 0) {
                scan.scan(record, content);
            }
        } catch (CheckpointException e) {
            notes.unread(source.name() + "!" + record.name(), e);
        }
    }

    private void checkCrc(ZipRecord record, ByteSource content, boolean crcsRecorded) throws IOException {
        if (record.crc() == 0 && !crcsRecorded) {
            return;
        }
        long found = RecordContent.crc(content);
        if (found != record.crc()) {
            notes.warning(
                    record.crc() == 0 ? "crc-not-recorded" : "bad-crc",
                    content.name(),
                    record.dataOffset(),
                    "the CRC-32 is %08x, but should be %08x".formatted(found, record.crc()));
        }
    }

    /** Compares the sizes that the pickle expects with those of the records. */
    private void checkStorages(ZipRecord pickle) {
        Map<String, Long> expected = new HashMap<>();
        try {
            ByteSource content = new RecordContent(limits).of(zip, pickle);
            Unpickled object = PickleReader.read(content, 0, limits.pickle());
            PyGraph.forEach(object.value(), value -> {
                if (value instanceof PyPersistent reference
                        && reference.id() instanceof PyTuple id
                        && id.items().size() >= 5
                        && id.items().get(1) instanceof PyGlobal type
                        && StorageTypes.isStorage(type)
                        && id.items().get(4) instanceof PyInt elements) {
                    long count = elements.asLong().orElse(-1);
                    int itemSize = StorageTypes.itemSize(StorageTypes.elementType(type));
                    long bytes = count > Long.MAX_VALUE / itemSize ? -1 : count * itemSize;
                    PythonText.string(id.items().get(2)).ifPresent(key -> checkStorage(key, bytes, expected));
                }
            });
        } catch (CheckpointException e) {
            // Already noted when the pickle was scanned.
            return;
        } catch (IOException e) {
            notes.unread(source.name(), "the file cannot be read: " + e.getMessage());
        }
    }

    private void checkStorage(String key, long bytes, Map<String, Long> expected) {
        Long before = expected.put(key, bytes);
        if (before != null && before == bytes) {
            return;
        }
        String name = zip.folder() + "/data/" + key;
        ZipRecord record = zip.find(name).orElse(null);
        if (record == null) {
            notes.warning("missing-record", source.name(), 0, "the archive has no record " + name);
        } else if (record.size() != bytes) {
            notes.danger(
                    "storage-size-mismatch",
                    source.name() + "!" + name,
                    record.dataOffset(),
                    "the pickle expects " + bytes + " bytes, but the record has " + record.size());
        }
    }
}
