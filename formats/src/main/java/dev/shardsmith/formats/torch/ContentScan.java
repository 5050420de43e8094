package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyGraph;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import dev.shardsmith.formats.pickle.Unpickled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Scans the content of one file by its kind, and what lies inside it by theirs. */
final class ContentScan {
    private static final int HEADER_SIZE = 30;

    /** How much of a damaged archive is searched for pickles. */
    private static final int SALVAGED = 1 << 26;

    private final ScanNotes notes;
    private final TorchLimits limits;

    ContentScan(ScanNotes notes, TorchLimits limits) {
        this.notes = notes;
        this.limits = limits;
    }

    void scan(ByteSource source, FileKind kind, boolean mustBeReadable) throws IOException {
        switch (kind) {
            case TORCH_ZIP, TORCHSCRIPT, TORCH_PACKAGE, TORCH_EXPORT, OTHER_ZIP, NUMPY_ARCHIVE -> archives(source);
            case TORCH_LEGACY -> stream(source);
            case PICKLE -> wholePickle(source, 0);
            case NUMPY_ARRAY -> array(source);
            case SAFETENSORS, GGUF -> {
                // Nothing in these is run.
            }
            case TORCH_TAR, TORCH_PREVIEW, GZIP, HDF5, HTML, GIT_LFS_POINTER, TEXT, EMPTY, UNKNOWN -> {
                if (!textPickle(source) && mustBeReadable) {
                    notes.unread(source.name(), "this is " + kind.description() + ", which is not looked into");
                }
            }
        }
    }

    /** A pickle of protocol 0 may begin with anything; it is one if it names something or can be read to its end. */
    private boolean textPickle(ByteSource source) throws IOException {
        ScanNotes trial = new ScanNotes();
        boolean readable = true;
        try {
            PickleReader.read(source, 0, limits.pickle(), trial.listener(source.name()));
        } catch (CheckpointException e) {
            readable = false;
        }
        boolean pickle =
                source.size() > 1 && (readable || !trial.report().globals().isEmpty());
        if (pickle) {
            wholePickle(source, 0);
        }
        return pickle;
    }

    /** One pickle that reaches to the end of its source. */
    private void wholePickle(ByteSource source, int depth) throws IOException {
        Optional<Unpickled> pickle = pickle(source, 0, depth);
        if (pickle.isPresent() && pickle.get().end() < source.size()) {
            notes.warning(
                    "trailing-bytes",
                    source.name(),
                    pickle.get().end(),
                    (source.size() - pickle.get().end()) + " bytes follow the end of the pickle");
            pickle(source, pickle.get().end(), depth);
        }
    }

    private Optional<Unpickled> pickle(ByteSource source, long start, int depth) throws IOException {
        try {
            Unpickled pickle = PickleReader.read(source, start, limits.pickle(), notes.listener(source.name()));
            nested(pickle.value(), source, depth);
            return Optional.of(pickle);
        } catch (CheckpointException e) {
            notes.unread(source.name(), e);
            return Optional.empty();
        }
    }

    /** Byte strings that are files of their own: Python code around the checkpoint may load these, too. */
    private void nested(PyValue root, ByteSource outer, int depth) throws IOException {
        List<byte[]> found = new ArrayList<>();
        PyGraph.forEach(
                root,
                value -> PythonText.bytes(value).filter(ContentScan::mayBeFile).ifPresent(found::add));
        for (int i = 0; i < found.size(); i++) {
            ByteSource inner = ByteSource.of(outer.name() + "!bytes#" + i, found.get(i));
            FileKind kind = FileKind.detect(inner);
            if (kind != FileKind.PICKLE && kind != FileKind.TORCH_ZIP && kind != FileKind.TORCH_LEGACY) {
                continue;
            }
            if (depth >= limits.nestedStreams()) {
                notes.unread(inner.name(), "files lie inside files too deep");
            } else if (kind == FileKind.PICKLE) {
                pickle(inner, 0, depth + 1);
            } else if (kind == FileKind.TORCH_LEGACY) {
                stream(inner);
            } else {
                archive(inner, depth + 1);
            }
        }
    }

    private static boolean mayBeFile(byte[] bytes) {
        return bytes.length > 4
                && ((bytes[0] & 0xff) == 0x80 && bytes[1] >= 0 && bytes[1] <= 5
                        || bytes[0] == 'P' && bytes[1] == 'K' && bytes[2] == 3);
    }

    private void stream(ByteSource source) throws IOException {
        long at = 0;
        for (int i = 0; i < 5; i++) {
            Optional<Unpickled> pickle = pickle(source, at, 0);
            if (pickle.isEmpty()) {
                return;
            }
            boolean magic = pickle.get().value() instanceof PyInt number
                    && number.toBigInteger().equals(LegacyStream.MAGIC);
            if (i == 0 && !magic) {
                // Not the stream it looks like: Python's own loader would stop here, too.
                notes.warning(
                        "wrong-magic-number", source.name(), 0, "the stream does not begin with PyTorch's number");
            }
            at = pickle.get().end();
        }
        try {
            LegacyStream stream = LegacyStream.read(source, limits);
            if (stream.trailingBytes() > 0) {
                notes.warning(
                        "trailing-bytes",
                        source.name(),
                        source.size() - stream.trailingBytes(),
                        stream.trailingBytes() + " bytes follow the last storage");
            }
        } catch (CheckpointException e) {
            if (e.kind() != CheckpointException.Kind.REFUSED) {
                notes.unread(source.name(), e);
            }
        }
    }

    private void array(ByteSource source) throws IOException {
        byte[] head = source.readBytes(0, (int) Math.min(1 << 16, source.size()));
        boolean wide = head.length > 12 && head[6] >= 2;
        int length = head.length < 12 ? 0 : (head[8] & 0xff) | (head[9] & 0xff) << 8;
        int start = (wide ? 12 : 10) + length;
        String header = new String(head, 0, Math.min(head.length, start), StandardCharsets.ISO_8859_1);
        if (header.contains("O'") || header.contains("O\"")) {
            pickle(source, Math.min(start, source.size()), 0);
        }
    }

    /** Archives one after the other: usually one, in files of distributed checkpoints one for each item. */
    private void archives(ByteSource source) throws IOException {
        boolean items = source.name().endsWith(".distcp");
        long end = source.size();
        while (end > 0) {
            ByteSource rest = end == source.size() ? source : source.slice("", 0, end);
            long start;
            try {
                start = ZipArchive.start(rest);
            } catch (CheckpointException e) {
                notes.unread(source.name(), e);
                salvage(rest);
                return;
            }
            if (start > 0 && !items) {
                notes.warning("leading-bytes", source.name(), 0, start + " bytes stand before an archive");
            }
            archive(start == 0 ? rest : rest.slice("item at byte " + start, start, end - start), 0);
            end = start;
        }
    }

    private void archive(ByteSource source, int depth) throws IOException {
        ZipArchive zip;
        try {
            zip = ZipArchive.examine(source, limits);
        } catch (CheckpointException e) {
            notes.unread(source.name(), e);
            salvage(source);
            return;
        }
        new ArchiveScan(notes, limits, source, zip).scan((record, content) -> {
            FileKind kind = FileKind.detect(content);
            boolean named = record.name().endsWith(".pkl");
            if (kind == FileKind.TORCH_LEGACY && !named) {
                stream(content);
            } else if (named || kind == FileKind.PICKLE) {
                wholePickle(content, depth);
            } else if (kind == FileKind.NUMPY_ARRAY) {
                array(content);
            } else if (kind == FileKind.TORCH_ZIP || kind == FileKind.OTHER_ZIP || kind == FileKind.TORCHSCRIPT) {
                if (depth >= limits.nestedStreams()) {
                    notes.unread(content.name(), "archives lie inside archives too deep");
                } else {
                    archive(content, depth + 1);
                }
            }
        });
    }

    /** Looks for pickles behind local headers where the directory is of no use. */
    private void salvage(ByteSource source) throws IOException {
        int length = (int) Math.min(SALVAGED, source.size());
        byte[] bytes = source.readBytes(0, length);
        for (int at = 0; at + HEADER_SIZE < length; at++) {
            if (bytes[at] != 'P' || bytes[at + 1] != 'K' || bytes[at + 2] != 3 || bytes[at + 3] != 4) {
                continue;
            }
            int nameLength = (bytes[at + 26] & 0xff) | (bytes[at + 27] & 0xff) << 8;
            int extraLength = (bytes[at + 28] & 0xff) | (bytes[at + 29] & 0xff) << 8;
            int start = at + HEADER_SIZE + nameLength + extraLength;
            if (start >= length) {
                continue;
            }
            String name = new String(bytes, at + HEADER_SIZE, nameLength, StandardCharsets.ISO_8859_1);
            boolean stored = bytes[at + 8] == 0 && bytes[at + 9] == 0;
            if (stored && (name.endsWith(".pkl") || (bytes[start] & 0xff) == 0x80)) {
                pickle(source.slice(name, start, source.size() - start), 0, 0);
            }
        }
    }
}
