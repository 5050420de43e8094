package dev.shardsmith.formats.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Lays out safetensors files that are to be written.
 *
 * <p>Tensors are sorted by element type, wide types first, then by name, so that each is aligned to its element size; the
 * header is padded with spaces to a multiple of 8 bytes. The same tensors give the same bytes on every run.
 */
public final class SafetensorsImage {
    /** The order of types in the format's own list; files hold them from last to first. */
    private static final List<DType> ALIGNMENT_ORDER = List.of(
            DType.BOOL,
            DType.F4_E2M1FN_X2,
            DType.F6_E2M3,
            DType.F6_E3M2,
            DType.U8,
            DType.I8,
            DType.F8_E5M2,
            DType.F8_E4M3FN,
            DType.F8_E8M0FNU,
            DType.F8_E4M3FNUZ,
            DType.F8_E5M2FNUZ,
            DType.I16,
            DType.U16,
            DType.F16,
            DType.BF16,
            DType.I32,
            DType.U32,
            DType.F32,
            DType.C64,
            DType.F64,
            DType.I64,
            DType.U64);

    private static final JsonFactory JSON = new JsonFactory();

    private SafetensorsImage() {}

    /** A tensor that is to be written; the shape counts elements of {@code dtype}. */
    public record Tensor(String name, DType dtype, Shape shape) {
        /** Bytes of data. */
        public long bytes() {
            return dtype.bytes(shape.elements());
        }
    }

    /**
     * Lays out one file; its slots have the names of the tensors as keys.
     *
     * @param path where the file goes, relative to the output folder
     * @param tensors the tensors, in any order
     * @param metadata entries of {@code __metadata__}, written in this order; left out if empty
     * @throws CheckpointException of kind REFUSED if the format cannot hold a tensor
     */
    public static FileImage of(String path, List<Tensor> tensors, Map<String, String> metadata)
            throws CheckpointException {
        check(path, tensors);
        List<Tensor> sorted = new ArrayList<>(tensors);
        sorted.sort(Comparator.comparingInt((Tensor tensor) -> -ALIGNMENT_ORDER.indexOf(tensor.dtype()))
                .thenComparing(Tensor::name, SafetensorsImage::compareUtf8));
        byte[] header = header(path, sorted, metadata);
        long position = (long) SafetensorsFile.PREFIX + header.length;
        byte[] start = new byte[SafetensorsFile.PREFIX + header.length];
        for (int i = 0; i < SafetensorsFile.PREFIX; i++) {
            start[i] = (byte) ((long) header.length >>> (8 * i));
        }
        System.arraycopy(header, 0, start, SafetensorsFile.PREFIX, header.length);
        List<FileImage.Slot> slots = new ArrayList<>(sorted.size());
        for (Tensor tensor : sorted) {
            slots.add(new FileImage.Slot(tensor.name(), position, tensor.bytes()));
            position = Math.addExact(position, tensor.bytes());
        }
        return new FileImage(path, position, List.of(new FileImage.Literal(0, start)), slots, List.of());
    }

    private static void check(String path, List<Tensor> tensors) throws CheckpointException {
        Set<String> names = new HashSet<>();
        for (Tensor tensor : tensors) {
            String where = path + ", tensor " + tensor.name();
            if (!names.add(tensor.name())) {
                throw refused(where, "two tensors would have the name '" + tensor.name() + "'");
            }
            if (tensor.name().equals("__metadata__") || !SafetensorsFile.isUnicode(tensor.name())) {
                throw refused(where, "safetensors cannot hold a tensor of this name");
            }
            if (!ALIGNMENT_ORDER.contains(tensor.dtype())) {
                throw refused(
                        where,
                        "safetensors has no element type for " + tensor.dtype().torchName());
            }
            if (!tensor.dtype().byteAligned() && tensor.shape().elements() % 4 != 0) {
                throw refused(
                        where,
                        "shape " + tensor.shape() + " of type " + tensor.dtype().shortName()
                                + " does not fill whole bytes");
            }
            if (tensor.dtype() == DType.F4_E2M1FN_X2 && tensor.shape().rank() == 0) {
                throw refused(where, "a tensor of type F4 needs at least one dimension");
            }
        }
    }

    private static byte[] header(String path, List<Tensor> sorted, Map<String, String> metadata)
            throws CheckpointException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.writeStartObject();
            if (!metadata.isEmpty()) {
                json.writeObjectFieldStart("__metadata__");
                for (Map.Entry<String, String> entry : metadata.entrySet()) {
                    if (!SafetensorsFile.isUnicode(entry.getKey()) || !SafetensorsFile.isUnicode(entry.getValue())) {
                        throw refused(path, "a metadata entry is not valid Unicode: '" + entry.getKey() + "'");
                    }
                    json.writeStringField(entry.getKey(), entry.getValue());
                }
                json.writeEndObject();
            }
            long begin = 0;
            for (Tensor tensor : sorted) {
                long end = Math.addExact(begin, tensor.bytes());
                writeTensor(json, tensor, begin, end);
                begin = end;
            }
            json.writeEndObject();
        } catch (CheckpointException e) {
            throw e;
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory failed", e);
        }
        byte[] written = bytes.toByteArray();
        byte[] padded = Arrays.copyOf(written, (written.length + 7) / 8 * 8);
        Arrays.fill(padded, written.length, padded.length, (byte) ' ');
        if (padded.length > SafetensorsFile.MAX_HEADER) {
            throw CheckpointException.of(
                            CheckpointException.Kind.LIMIT,
                            path,
                            "the header would be " + padded.length + " bytes long; the format allows at most "
                                    + SafetensorsFile.MAX_HEADER)
                    .withHint("write more and smaller files with --max-shard-size");
        }
        return padded;
    }

    private static void writeTensor(JsonGenerator json, Tensor tensor, long begin, long end) throws IOException {
        json.writeObjectFieldStart(tensor.name());
        json.writeStringField("dtype", tensor.dtype().safetensorsName().orElseThrow());
        json.writeArrayFieldStart("shape");
        long[] sizes = tensor.shape().toArray();
        if (tensor.dtype() == DType.F4_E2M1FN_X2) {
            sizes[sizes.length - 1] = Math.multiplyExact(sizes[sizes.length - 1], 2L);
        }
        for (long size : sizes) {
            json.writeNumber(size);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("data_offsets");
        json.writeNumber(begin);
        json.writeNumber(end);
        json.writeEndArray();
        json.writeEndObject();
    }

    /** Order of the UTF-8 bytes, which differs from Java's own beyond the basic plane. */
    static int compareUtf8(String a, String b) {
        int length = Math.min(a.length(), b.length());
        for (int i = 0; i < length; i++) {
            char x = a.charAt(i);
            char y = b.charAt(i);
            if (x != y) {
                boolean surrogateX = Character.isSurrogate(x);
                boolean surrogateY = Character.isSurrogate(y);
                return surrogateX == surrogateY ? Character.compare(x, y) : Boolean.compare(surrogateX, surrogateY);
            }
        }
        return Integer.compare(a.length(), b.length());
    }

    private static CheckpointException refused(String where, String problem) {
        return CheckpointException.of(CheckpointException.Kind.REFUSED, where, problem);
    }
}
