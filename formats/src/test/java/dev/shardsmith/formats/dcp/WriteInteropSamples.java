package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.safetensors.SafetensorsImage;
import dev.shardsmith.formats.safetensors.SafetensorsShards;
import dev.shardsmith.formats.torch.ImageBytes;
import dev.shardsmith.formats.torch.TorchPickle;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Writes distributed checkpoints and safetensors files for real PyTorch to load, with {@code expected.txt} that says what a
 * loader must find: {@code folder TAB name TAB dtype TAB shape TAB sha256}.
 */
public final class WriteInteropSamples {
    private final Path folder;
    private final List<String> expected = new ArrayList<>();

    private WriteInteropSamples(Path folder) {
        this.folder = folder;
    }

    /** Writes the samples into the folder that is the only argument. */
    public static void main(String[] args) throws IOException {
        new WriteInteropSamples(Path.of(args[0])).write();
    }

    private void write() throws IOException {
        distributed("dcp", false);
        distributed("torch_dist", true);
        safetensors();
        Files.write(folder.resolve("expected.txt"), expected);
    }

    private void distributed(String name, boolean megatron) throws IOException {
        Map<String, byte[]> contents = new LinkedHashMap<>();
        DcpImage image = new DcpImage();
        for (Sample sample : samples()) {
            byte[] whole = sample.elements();
            List<DcpImage.Chunk> chunks = new ArrayList<>();
            for (long[][] box : boxes(sample.shape())) {
                String key = sample.name() + " " + chunks.size();
                chunks.add(new DcpImage.Chunk(box[0], box[1], key, chunks.size() % 3));
                contents.put(key, cut(whole, sample, box));
            }
            image.tensor(sample.name(), sample.dtype(), sample.shape(), chunks);
            if (!megatron) {
                image.path(
                        sample.name(),
                        Arrays.stream(sample.name().split("\\."))
                                .map(PyStr::new)
                                .toList());
            }
            expected.add(sample.line(name));
        }
        PyDict state = new PyDict();
        state.put("iteration", PyInt.of(100));
        state.put("rng", new TorchPickle().tensor(DType.U8, Shape.of(5), "rng"));
        String object = megatron ? "common_state/shard_0_1" : "extra";
        image.object(object, megatron ? new PyList(List.of(state)) : state, 0);
        contents.put(DcpImage.storageKey(object, "rng"), new byte[] {1, 2, 3, 4, 5});
        if (megatron) {
            image.withCommon(state);
            contents.put(DcpImage.storageKey("common.pt", "rng"), new byte[] {1, 2, 3, 4, 5});
        } else {
            image.withPaths();
        }
        for (FileImage file : image.build()) {
            write(folder.resolve(name).resolve(file.path()), file, contents);
        }
    }

    private void safetensors() throws IOException {
        Map<String, byte[]> contents = new LinkedHashMap<>();
        List<SafetensorsImage.Tensor> tensors = new ArrayList<>();
        for (Sample sample : samples()) {
            // Real safetensors of 2025 has no complex numbers yet.
            if (sample.dtype() != DType.C64) {
                tensors.add(new SafetensorsImage.Tensor(sample.name(), sample.dtype(), sample.shape()));
                contents.put(sample.name(), sample.elements());
                expected.add(sample.line("safetensors"));
                expected.add(sample.line("safetensors_sharded"));
            }
        }
        Map<String, String> metadata = Map.of("format", "pt");
        for (FileImage file : SafetensorsShards.of(tensors, metadata, SafetensorsShards.DEFAULT_SHARD_BYTES)) {
            write(folder.resolve("safetensors").resolve(file.path()), file, contents);
        }
        for (FileImage file : SafetensorsShards.of(tensors, metadata, 200)) {
            write(folder.resolve("safetensors_sharded").resolve(file.path()), file, contents);
        }
    }

    private static void write(Path path, FileImage image, Map<String, byte[]> contents) throws IOException {
        Files.createDirectories(path.getParent());
        Files.write(path, ImageBytes.of(image, contents::get));
    }

    static List<Sample> samples() {
        return List.of(
                new Sample("model.layers.0.weight", DType.F32, Shape.of(6, 4)),
                new Sample("model.layers.0.bias", DType.BF16, Shape.of(7)),
                new Sample("model.layers.1.weight", DType.F16, Shape.of(5, 3, 2)),
                new Sample("model.scale", DType.F64, Shape.SCALAR),
                new Sample("model.empty", DType.F32, Shape.of(0, 3)),
                new Sample("model.fp8", DType.F8_E4M3FN, Shape.of(3, 3)),
                new Sample("model.fp8_e5m2", DType.F8_E5M2, Shape.of(4)),
                new Sample("model.index", DType.I64, Shape.of(9)),
                new Sample("model.mask", DType.BOOL, Shape.of(2, 3)),
                new Sample("model.u16", DType.U16, Shape.of(4)),
                new Sample("model.complex", DType.C64, Shape.of(2, 2)));
    }

    /** Halves along each of the first two dimensions, uneven where the size is odd. */
    static List<long[][]> boxes(Shape shape) {
        List<long[][]> boxes = new ArrayList<>();
        boxes.add(new long[][] {new long[shape.rank()], shape.toArray()});
        for (int dim = 0; dim < Math.min(2, shape.rank()); dim++) {
            List<long[][]> halves = new ArrayList<>();
            for (long[][] box : boxes) {
                long first = (box[1][dim] + 1) / 2;
                long[][] low = {box[0].clone(), box[1].clone()};
                long[][] high = {box[0].clone(), box[1].clone()};
                low[1][dim] = first;
                high[0][dim] += first;
                high[1][dim] -= first;
                halves.add(low);
                if (high[1][dim] > 0) {
                    halves.add(high);
                }
            }
            boxes = halves;
        }
        return boxes;
    }

    static byte[] cut(byte[] whole, Sample sample, long[][] box) {
        int width = sample.dtype().byteSize();
        long[] strides = sample.shape().rowMajorStrides();
        long count = Shape.of(box[1]).elements();
        byte[] part = new byte[(int) count * width];
        for (int i = 0; i < count; i++) {
            long at = 0;
            long rest = i;
            for (int dim = strides.length - 1; dim >= 0; dim--) {
                at += (box[0][dim] + rest % box[1][dim]) * strides[dim];
                rest /= box[1][dim];
            }
            System.arraycopy(whole, (int) at * width, part, i * width, width);
        }
        return part;
    }

    /** A tensor of bytes that its name determines. */
    record Sample(String name, DType dtype, Shape shape) {
        byte[] elements() {
            byte[] bytes = new byte[(int) dtype.bytes(shape.elements())];
            new Random(Arrays.hashCode(name.getBytes(StandardCharsets.UTF_8))).nextBytes(bytes);
            for (int i = 0; dtype == DType.BOOL && i < bytes.length; i++) {
                bytes[i] &= 1;
            }
            return bytes;
        }

        String line(String folder) {
            String sizes = shape.toString().replace(" ", "");
            return String.join("\t", folder, name, dtype.torchName(), sizes, sha256(elements()));
        }

        private static String sha256(byte[] bytes) {
            try {
                return HexFormat.of()
                        .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
