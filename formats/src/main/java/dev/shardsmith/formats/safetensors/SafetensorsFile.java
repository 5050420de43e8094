package dev.shardsmith.formats.safetensors;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.safetensors.SafetensorsHeader.Declaration;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A safetensors file: its header read and checked, its tensors found but not read.
 *
 * <p>Accepted although the reference writer never makes it: any order of the entries, data that is not aligned, white space
 * around the JSON, unknown fields. A type code that is not known is no error until the tensor itself is asked for.
 */
public final class SafetensorsFile {
    /** Bytes before the header. */
    static final int PREFIX = 8;

    /** The format's own limit on the header, in bytes. */
    static final int MAX_HEADER = 100_000_000;

    private static final byte[] LFS_POINTER = "version https://git-lfs".getBytes(StandardCharsets.US_ASCII);

    /** What to do about bytes after the last tensor, which the format forbids. */
    public enum TrailingBytes {
        REFUSE,
        TOLERATE
    }

    private final ByteSource source;
    private final long dataOffset;
    private final Map<String, String> metadata;
    private final Map<String, SafetensorsEntry> entries;
    private final long trailing;

    private SafetensorsFile(ByteSource source, int headerSize, SafetensorsHeader header, List<Declaration> inOrder) {
        this.source = source;
        this.dataOffset = (long) PREFIX + headerSize;
        this.metadata = header.metadata();
        Map<String, SafetensorsEntry> byName = new LinkedHashMap<>(inOrder.size() * 4 / 3 + 1);
        for (Declaration declared : inOrder) {
            byName.put(declared.name(), new SafetensorsEntry(this, declared));
        }
        this.entries = Collections.unmodifiableMap(byName);
        this.trailing = source.size() - dataOffset - dataSize(inOrder);
    }

    /**
     * Reads and checks the header.
     *
     * @throws CheckpointException if a rule of the format is broken, each rule with its own message
     */
    public static SafetensorsFile open(ByteSource source) throws IOException {
        return open(source, TrailingBytes.REFUSE);
    }

    /** Reads and checks the header, with a choice for bytes after the last tensor. */
    public static SafetensorsFile open(ByteSource source, TrailingBytes trailingBytes) throws IOException {
        int headerSize = headerSize(source);
        SafetensorsHeader header = SafetensorsHeader.parse(source.name(), source.readBytes(PREFIX, headerSize));
        List<Declaration> inOrder = new ArrayList<>(header.tensors());
        inOrder.sort(Comparator.comparingLong(Declaration::begin).thenComparingLong(Declaration::end));
        long available = source.size() - PREFIX - headerSize;
        checkOffsets(source.name(), inOrder, available);
        SafetensorsFile file = new SafetensorsFile(source, headerSize, header, inOrder);
        if (file.trailing > 0 && trailingBytes == TrailingBytes.REFUSE) {
            throw CheckpointException.malformed(
                            source.name(),
                            source.size() - file.trailing,
                            file.trailing + " bytes follow the last tensor; the format allows none")
                    .withHint("compare the file with its source, or pass --tolerate-trailing to ignore them");
        }
        return file;
    }

    /**
     * True if the source begins like a safetensors file: the length of a header, then a JSON object. The length may be wrong,
     * which {@link #open} says better than somebody who takes the file for another one.
     */
    public static boolean looksLike(ByteSource source) throws IOException {
        if (source.size() < PREFIX + 2) {
            return false;
        }
        byte[] start = source.readBytes(0, PREFIX + 2);
        if (start[PREFIX] != '{' || "\"} \t\r\n".indexOf(start[PREFIX + 1]) < 0) {
            return false;
        }
        for (int i = 0; i < PREFIX; i++) {
            if (start[i] < ' ' || start[i] == 0x7f) {
                return true;
            }
        }
        // Eight letters are the beginning of a text.
        return false;
    }

    /** Where the bytes come from. */
    public ByteSource source() {
        return source;
    }

    /** Position of the first tensor's data in the source, in bytes. */
    public long dataOffset() {
        return dataOffset;
    }

    /** The entries of {@code __metadata__}, in order. */
    public Map<String, String> metadata() {
        return metadata;
    }

    /** The tensors in the order of their data. */
    public Collection<SafetensorsEntry> entries() {
        return entries.values();
    }

    /** The tensor of a name. */
    public Optional<SafetensorsEntry> entry(String name) {
        return Optional.ofNullable(entries.get(name));
    }

    /** Number of bytes after the last tensor; 0 unless they were tolerated. */
    public long trailingBytes() {
        return trailing;
    }

    /** True if the text has no half of a surrogate pair, so that UTF-8 can express it. */
    static boolean isUnicode(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
                i++;
            } else if (Character.isSurrogate(c)) {
                return false;
            }
        }
        return true;
    }

    private static int headerSize(ByteSource source) throws IOException {
        if (source.size() < PREFIX) {
            throw CheckpointException.truncated(
                    source.name(),
                    source.size(),
                    "the file is " + source.size() + " bytes long, too short for the 8 bytes of the header's length");
        }
        long size = source.readBuffer(0, PREFIX).getLong();
        if (size < 0 || size > MAX_HEADER) {
            if (isLfsPointer(source)) {
                throw CheckpointException.of(
                                CheckpointException.Kind.UNSUPPORTED,
                                source.name(),
                                "this is a Git LFS pointer, not the file it stands for")
                        .withHint("fetch the file with git lfs pull");
            }
            throw CheckpointException.malformed(
                    source.name(),
                    0,
                    "the header claims " + Long.toUnsignedString(size) + " bytes; the format allows at most "
                            + MAX_HEADER);
        }
        if (size > source.size() - PREFIX) {
            throw CheckpointException.truncated(
                    source.name(),
                    0,
                    "the header claims " + size + " bytes, but only " + (source.size() - PREFIX) + " bytes follow");
        }
        return (int) size;
    }

    private static boolean isLfsPointer(ByteSource source) throws IOException {
        return source.size() >= LFS_POINTER.length
                && Arrays.equals(source.readBytes(0, LFS_POINTER.length), LFS_POINTER);
    }

    private static void checkOffsets(String source, List<Declaration> inOrder, long available)
            throws CheckpointException {
        long position = 0;
        String previous = "";
        for (Declaration tensor : inOrder) {
            if (tensor.end() < tensor.begin()) {
                throw invalid(source, tensor, range(tensor) + " end before they begin");
            }
            if (tensor.begin() > position) {
                throw invalid(
                        source,
                        tensor,
                        range(tensor) + " leave a hole: no tensor covers bytes " + position + " to " + tensor.begin());
            }
            if (tensor.begin() < position) {
                throw invalid(
                        source,
                        tensor,
                        range(tensor) + " overlap tensor '" + previous + "', which ends at byte " + position);
            }
            checkSize(source, tensor);
            if (tensor.end() > available) {
                throw CheckpointException.of(
                                CheckpointException.Kind.TRUNCATED,
                                where(source, tensor),
                                range(tensor) + " reach past the end of the data, which is " + available
                                        + " bytes long: the file was probably cut off")
                        .withHint("copy or download the file again and compare its size with the original");
            }
            position = tensor.end();
            previous = tensor.name();
        }
    }

    private static void checkSize(String source, Declaration tensor) throws CheckpointException {
        Optional<DType> dtype = DType.ofSafetensorsName(tensor.code());
        if (dtype.isEmpty()) {
            return;
        }
        // A byte of F4 holds two values, and the header counts values.
        long bits = dtype.get() == DType.F4_E2M1FN_X2 ? 4 : dtype.get().bits();
        Shape shape = tensor.shape();
        long total;
        try {
            total = Math.multiplyExact(shape.elements(), bits);
        } catch (ArithmeticException e) {
            throw invalid(source, tensor, "the size in bits of shape " + shape + " overflows")
                    .causedBy(e);
        }
        if (total % 8 != 0) {
            throw invalid(
                    source,
                    tensor,
                    "shape " + shape + " of type " + tensor.code() + " is " + total + " bits, not whole bytes");
        }
        if (tensor.end() - tensor.begin() != total / 8) {
            throw invalid(
                    source,
                    tensor,
                    "shape " + shape + " of type " + tensor.code() + " needs " + total / 8 + " bytes, but "
                            + range(tensor) + " hold " + (tensor.end() - tensor.begin()));
        }
    }

    private static String where(String source, Declaration tensor) {
        return source + ", tensor " + tensor.name();
    }

    private static String range(Declaration tensor) {
        return "data_offsets [" + tensor.begin() + ", " + tensor.end() + "]";
    }

    private static CheckpointException invalid(String source, Declaration tensor, String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, where(source, tensor), problem);
    }

    private static long dataSize(List<Declaration> inOrder) {
        return inOrder.isEmpty() ? 0 : inOrder.get(inOrder.size() - 1).end();
    }
}
