package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.Unpickled;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The zip archive of {@code torch.save}: a pickle, a record for each storage, and some small ones. */
final class TorchArchive {
    private static final long LONGEST_SMALL_RECORD = 1024;

    static final String PICKLE = "/data.pkl";

    /** Archives of fewer records are checked before another thread has begun. */
    private static final int MANY = 4096;

    private static final int OLDEST_VERSION = 1;
    private static final int NEWEST_VERSION = 10;

    private final ByteSource source;
    private final ZipArchive zip;
    private final Unpickled pickle;
    private final RecordContent contents;

    /** What the names of the records of storages begin with. */
    private final String storages;

    private final ByteOrder order;
    private final List<String> warnings = new ArrayList<>();

    /** An archive whose records have been checked, and what its pickle says. */
    TorchArchive(ByteSource source, ZipArchive zip, TorchLimits limits, Unpickled pickle) throws IOException {
        this.source = source;
        this.zip = zip;
        this.pickle = pickle;
        this.contents = new RecordContent(limits);
        this.storages = zip.folder() + "/data/";
        this.order = byteOrder();
        checkVersion();
        for (ZipProblem problem : zip.problems()) {
            warnings.add(problem.text());
        }
    }

    static boolean isArchive(ByteSource source) throws IOException {
        return source.size() >= 4 && source.readBuffer(0, 4).getInt(0) == 0x04034b50;
    }

    /** Opens an archive and reads its pickle. */
    static TorchArchive open(ByteSource source, TorchLimits limits) throws IOException {
        ZipArchive zip = ZipArchive.list(source, limits);
        return zip.records().size() < MANY ? open(source, zip, limits) : openAside(source, zip, limits);
    }

    private static TorchArchive open(ByteSource source, ZipArchive zip, TorchLimits limits) throws IOException {
        zip.check();
        requireTorch(source, zip);
        ZipRecord record = zip.find(zip.folder() + PICKLE).orElseThrow();
        return new TorchArchive(source, zip, limits, readPickle(source, zip, record, limits));
    }

    /** Reads the pickle while another thread checks the archive, whose complaints come first. */
    private static TorchArchive openAside(ByteSource source, ZipArchive zip, TorchLimits limits) throws IOException {
        Optional<ZipRecord> record;
        try {
            record = zip.ahead(zip.folder() + PICKLE);
        } catch (CheckpointException e) {
            return open(source, zip, limits);
        }
        Aside check = Aside.start("records", zip::check);
        Unpickled pickle = null;
        CheckpointException damaged = null;
        try {
            pickle = record.isPresent() ? readPickle(source, zip, record.get(), limits) : null;
        } catch (CheckpointException e) {
            damaged = e;
        } finally {
            check.join();
        }
        requireTorch(source, zip);
        if (damaged != null) {
            throw damaged;
        }
        return new TorchArchive(source, zip, limits, pickle);
    }

    /** Fails if the archive is of another kind. */
    static void requireTorch(ByteSource source, ZipArchive zip) throws CheckpointException {
        FileKind kind = FileKind.ofArchive(zip);
        if (kind != FileKind.TORCH_ZIP) {
            throw kind.refusal(source);
        }
    }

    private static Unpickled readPickle(ByteSource source, ZipArchive zip, ZipRecord record, TorchLimits limits)
            throws IOException {
        if (record.size() > limits.pickle().pickleBytes()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    source.name() + "!" + record.name(),
                    "the pickle has " + record.size() + " bytes; the limit is "
                            + limits.pickle().pickleBytes());
        }
        ByteSource content = new RecordContent(limits).of(zip, record);
        checkCrc(record, content);
        DangerousCalls calls = new DangerousCalls();
        Unpickled pickle = PickleReader.read(content, 0, limits.pickle(), calls);
        calls.refuse(content.name());
        return pickle;
    }

    /** The bytes of a small record, of the CRC-32 that is recorded. */
    static byte[] checkedBytes(ZipArchive zip, ZipRecord record, TorchLimits limits) throws IOException {
        ByteSource content = new RecordContent(limits).of(zip, record);
        byte[] bytes = content.readBytes(0, (int) content.size());
        checkCrc(record, ByteSource.of(content.name(), bytes));
        return bytes;
    }

    /** The bytes of a storage's record in another source over the same archive. */
    ByteSource dataIn(ByteSource other, String key) throws CheckpointException {
        return zip.dataIn(other, zip.find(storages + key).orElseThrow());
    }

    /** The object that was saved. */
    Unpickled pickle() {
        return pickle;
    }

    String folder() {
        return zip.folder();
    }

    List<String> warnings() {
        return warnings;
    }

    /** The record of a storage. */
    TorchStorage storage(StorageResolver.StorageId id, PyValue view) throws IOException {
        String name = storages + id.key();
        ZipRecord record = zip.find(name).orElse(null);
        if (record == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    source.name(),
                    "the archive has no record " + name + ", which a tensor refers to");
        }
        if (!record.stored()) {
            throw CheckpointException.of(
                            CheckpointException.Kind.UNSUPPORTED,
                            source.name() + "!" + name,
                            "the record is compressed, which torch.save never does")
                    .withHint("unpack the archive and pack it again without compression (zip -0)");
        }
        if (record.size() != id.bytes()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    source.name() + "!" + name,
                    "the pickle expects " + id.bytes() + " bytes, but the record has " + record.size());
        }
        return new TorchStorage(id.key(), id.elementType(), id.elements(), id.location(), zip.data(record), order);
    }

    List<String> verifyCrc() throws IOException {
        List<String> unrecorded = new ArrayList<>();
        for (ZipRecord record : zip.records()) {
            ByteSource content = contents.of(zip, record);
            if (!checkCrc(record, content)) {
                unrecorded.add(record.name());
            }
        }
        return unrecorded;
    }

    /** False if the archive does not record the CRC: PyTorch writes 0 when told to leave it out. */
    private static boolean checkCrc(ZipRecord record, ByteSource content) throws IOException {
        if (record.crc() == 0) {
            return record.size() == 0 || RecordContent.crc(content) == 0;
        }
        long found = RecordContent.crc(content);
        if (found != record.crc()) {
            throw CheckpointException.of(
                            CheckpointException.Kind.MALFORMED,
                            content.name(),
                            "the record is damaged: its CRC-32 is %08x, but should be %08x"
                                    .formatted(found, record.crc()))
                    .withHint("copy or download the file again; PyTorch would load the damaged values without a word");
        }
        return true;
    }

    private ByteOrder byteOrder() throws IOException {
        Optional<String> text = smallRecord("byteorder");
        if (text.isEmpty()) {
            return ByteOrder.LITTLE_ENDIAN;
        }
        return switch (text.get()) {
            case "little" -> ByteOrder.LITTLE_ENDIAN;
            case "big" -> ByteOrder.BIG_ENDIAN;
            default ->
                throw CheckpointException.of(
                        CheckpointException.Kind.MALFORMED,
                        source.name() + "!" + folder() + "/byteorder",
                        "the byte order should be little or big, but is something else");
        };
    }

    private void checkVersion() throws IOException {
        Optional<String> text = smallRecord(".data/version");
        if (text.isEmpty()) {
            text = smallRecord("version");
        }
        if (text.isEmpty()) {
            warnings.add("the archive has no record " + folder() + "/version, without which PyTorch does not load it");
            return;
        }
        String digits = text.get().strip();
        boolean number =
                !digits.isEmpty() && digits.length() < 10 && digits.chars().allMatch(c -> c >= '0' && c <= '9');
        if (!number || Integer.parseInt(digits) < OLDEST_VERSION) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    source.name() + "!" + folder() + "/version",
                    "the version of the archive is no number from 1 on");
        }
        if (Integer.parseInt(digits) > NEWEST_VERSION) {
            warnings.add("the archive has version " + digits + "; the newest known is " + NEWEST_VERSION);
        }
    }

    private Optional<String> smallRecord(String name) throws IOException {
        Optional<ZipRecord> record = zip.find(folder() + "/" + name);
        if (record.isEmpty()) {
            return Optional.empty();
        }
        if (record.get().size() > LONGEST_SMALL_RECORD) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED,
                    source.name() + "!" + record.get().name(),
                    "the record should be a few bytes long, but has "
                            + record.get().size());
        }
        ByteSource content = contents.of(zip, record.get());
        return Optional.of(new String(content.readBytes(0, (int) content.size()), StandardCharsets.ISO_8859_1));
    }
}
