package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PickleLimits;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.safetensors.SafetensorsFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** What a file is, told from its content and never from its name. */
public enum FileKind {
    TORCH_ZIP("a PyTorch file (zip archive)"),
    TORCH_LEGACY("a PyTorch file (stream, as written before version 1.6)"),
    PICKLE("a Python pickle that torch.save did not write"),
    TORCH_TAR("a PyTorch file of version 0.1 (tar archive)"),
    TORCH_PREVIEW("a file of a preview release of PyTorch 1.0"),
    TORCHSCRIPT("a TorchScript archive, which holds a program as well as its weights"),
    TORCH_PACKAGE("a torch.package archive, which holds Python code"),
    TORCH_EXPORT("a torch.export archive, which holds a program as well as its weights"),
    SAFETENSORS("a safetensors file"),
    NUMPY_ARRAY("a NumPy array (.npy)"),
    NUMPY_ARCHIVE("a NumPy archive (.npz)"),
    OTHER_ZIP("a zip archive that PyTorch did not write"),
    GZIP("a gzip file"),
    HDF5("an HDF5 file"),
    GGUF("a GGUF file"),
    HTML("a web page"),
    GIT_LFS_POINTER("a Git LFS pointer"),
    TEXT("a text file"),
    EMPTY("an empty file"),
    UNKNOWN("no format that is known");

    private static final int HEAD = 512;
    private static final int TAR_MAGIC_AT = 257;
    private static final int MAGIC_PICKLE_BYTES = 64;

    /** The operations that can come first in a pickle that announces no protocol, if it holds more than a small number. */
    private static final String OLD_PICKLE_STARTS = "(c]})";

    private final String description;

    FileKind(String description) {
        this.description = description;
    }

    /** What it is, in words that follow "this is". */
    public String description() {
        return description;
    }

    /** Tells what a source is, reading as little of it as possible. */
    public static FileKind detect(ByteSource source) throws IOException {
        if (source.size() == 0) {
            return EMPTY;
        }
        byte[] head = source.readBytes(0, (int) Math.min(HEAD, source.size()));
        String text = new String(head, StandardCharsets.ISO_8859_1);
        if (text.startsWith("PK\u0003\u0004")) {
            return zipKind(source);
        }
        if (text.startsWith("PK\u0005\u0006")) {
            return OTHER_ZIP;
        }
        if (text.startsWith("PYTORCH1")) {
            return TORCH_PREVIEW;
        }
        if (text.startsWith("\u0093NUMPY")) {
            return NUMPY_ARRAY;
        }
        if (text.startsWith("\u001f\u008b")) {
            return GZIP;
        }
        if (text.startsWith("\u0089HDF\r\n")) {
            return HDF5;
        }
        if (text.startsWith("GGUF")) {
            return GGUF;
        }
        if (text.startsWith("version https://git-lfs")) {
            return GIT_LFS_POINTER;
        }
        if (text.length() >= TAR_MAGIC_AT + 5 && text.startsWith("ustar", TAR_MAGIC_AT)) {
            return TORCH_TAR;
        }
        if (SafetensorsFile.looksLike(source)) {
            return SAFETENSORS;
        }
        if (isPickle(head)) {
            return pickleKind(source);
        }
        return isOldPickle(source, head) ? PICKLE : textKind(text);
    }

    /** The reason why a source of this kind is not read as a PyTorch file, with advice. */
    CheckpointException refusal(ByteSource source) {
        CheckpointException.Kind kind = switch (this) {
            case EMPTY, HTML, GIT_LFS_POINTER, TEXT, UNKNOWN -> CheckpointException.Kind.MALFORMED;
            default -> CheckpointException.Kind.UNSUPPORTED;
        };
        return CheckpointException.of(kind, source.name(), "this is " + description + ", not a PyTorch checkpoint")
                .withHint(advice());
    }

    private String advice() {
        return switch (this) {
            case TORCH_TAR, TORCH_PREVIEW -> "load and save it again with a PyTorch of version 1.0 to 1.12";
            case TORCHSCRIPT -> "in Python: torch.save(torch.jit.load(FILE).state_dict(), NEW)";
            case TORCH_EXPORT -> "in Python: torch.save(torch.export.load(FILE).state_dict, NEW)";
            case TORCH_PACKAGE ->
                "in Python: load the model with torch.package.PackageImporter and save its state_dict()";
            case SAFETENSORS -> "give the file the extension .safetensors";
            case NUMPY_ARRAY, NUMPY_ARCHIVE -> "in Python: torch.save(torch.from_numpy(numpy.load(FILE)), NEW)";
            case GZIP -> "unpack it first: gunzip FILE";
            case HTML -> "the download failed and saved an error page; download the file again";
            case GIT_LFS_POINTER -> "fetch the content: git lfs pull";
            case EMPTY -> "the download or the save did not finish; get the file again";
            case PICKLE -> "if it holds arrays, load it in Python and save them with torch.save";
            case TORCH_ZIP, TORCH_LEGACY, OTHER_ZIP, HDF5, GGUF, TEXT, UNKNOWN ->
                "check that this is the file you mean";
        };
    }

    private static FileKind zipKind(ByteSource source) throws IOException {
        ZipArchive archive;
        try {
            archive = ZipArchive.examine(source, TorchLimits.defaults());
        } catch (CheckpointException e) {
            // Damaged: what it was meant to be is told by whoever opens it.
            return TORCH_ZIP;
        }
        return ofArchive(archive);
    }

    /** What an archive is, from the records that it has. */
    static FileKind ofArchive(ZipArchive archive) {
        String folder = archive.folder() + "/";
        List<ZipRecord> records = archive.records();
        if (archive.find(folder + "constants.pkl").isPresent()) {
            return TORCHSCRIPT;
        }
        if (archive.find(folder + "data.pkl").isPresent()) {
            return TORCH_ZIP;
        }
        if (archive.find(folder + "model.json").isPresent()) {
            return TORCHSCRIPT;
        }
        if (archive.find(folder + "archive_format").isPresent() || anyUnder(records, folder + "models/")) {
            return TORCH_EXPORT;
        }
        if (archive.find(folder + ".data/extern_modules").isPresent()
                || archive.find(folder + ".data/python_version").isPresent()) {
            return TORCH_PACKAGE;
        }
        boolean allArrays = !records.isEmpty()
                && records.stream().allMatch(record -> record.name().endsWith(".npy"));
        return allArrays ? NUMPY_ARCHIVE : OTHER_ZIP;
    }

    private static boolean anyUnder(List<ZipRecord> records, String folder) {
        return records.stream()
                .anyMatch(record ->
                        record.name().startsWith(folder) && record.name().endsWith(".json"));
    }

    private static boolean isPickle(byte[] head) {
        return head.length >= 2 && (head[0] & 0xff) == 0x80 && head[1] >= 0 && head[1] <= 5 || head[0] == 'L';
    }

    /** True for a pickle of protocol 0 or 1, which nothing at its beginning tells from a text: it has to be read. */
    private static boolean isOldPickle(ByteSource source, byte[] head) throws IOException {
        if (OLD_PICKLE_STARTS.indexOf(head[0]) < 0
                || source.size() < 2
                || source.readBytes(source.size() - 1, 1)[0] != '.') {
            return false;
        }
        try {
            return PickleReader.read(source).end() == source.size();
        } catch (CheckpointException e) {
            return false;
        }
    }

    private static FileKind pickleKind(ByteSource source) throws IOException {
        ByteSource start = source.slice("", 0, Math.min(MAGIC_PICKLE_BYTES, source.size()));
        try {
            boolean number =
                    PickleReader.read(start, 0, PickleLimits.defaults()).value() instanceof PyInt;
            return number ? TORCH_LEGACY : PICKLE;
        } catch (CheckpointException e) {
            return source.readBytes(0, 1)[0] == 'L' ? UNKNOWN : PICKLE;
        }
    }

    private static FileKind textKind(String head) {
        String text = head.stripLeading().toLowerCase(Locale.ROOT);
        if (text.startsWith("<!doctype html") || text.startsWith("<html") || text.startsWith("<head")) {
            return HTML;
        }
        boolean printable = head.chars().allMatch(c -> c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t');
        return printable ? TEXT : UNKNOWN;
    }
}
