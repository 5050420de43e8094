package dev.shardsmith.formats.dcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.ImageBytes;
import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DcpImageTest {
    @TempDir
    Path folder;

    @Test
    void whatTheSamplesWriteIsReadBack() throws IOException {
        WriteInteropSamples.main(new String[] {folder.toString()});
        for (String name : List.of("dcp", "torch_dist")) {
            try (FilePool pool = new FilePool()) {
                DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, folder.resolve(name));
                assertThat(checkpoint.check()).isEmpty();
                assertThat(checkpoint.version()).isEqualTo("1.0.0");
                assertThat(checkpoint.hasPaths()).isEqualTo(name.equals("dcp"));
                assertThat(checkpoint.tensors()).hasSameSizeAs(WriteInteropSamples.samples());
                for (WriteInteropSamples.Sample sample : WriteInteropSamples.samples()) {
                    DcpTensor tensor = checkpoint.tensor(sample.name()).orElseThrow();
                    assertThat(tensor.dtype()).hasValue(sample.dtype());
                    assertThat(tensor.shape()).isEqualTo(sample.shape());
                    assertThat(WholeTensors.bytes(tensor)).as(sample.name()).isEqualTo(sample.elements());
                }
            }
        }
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint megatron = DcpCheckpoint.open(pool, folder.resolve("torch_dist"));
            PyList wrapped = (PyList) megatron.object("common_state/shard_0_1").root();
            assertThat(((PyDict) wrapped.items().get(0)).get("iteration")).hasValue(PyInt.of(100));
            assertThat(folder.resolve("torch_dist/common.pt")).isRegularFile();
            assertThat(folder.resolve("torch_dist/metadata.json"))
                    .hasContent("{\"sharded_backend\": \"torch_dist\", \"sharded_backend_version\": 1,"
                            + " \"common_backend\": \"torch\", \"common_backend_version\": 1}");
        }
    }

    @Test
    void anyDivisionIsReadBack() {
        Cases.forAll(60, random -> {
            Path ckpt = Files.createTempDirectory(folder, "case");
            Map<String, byte[]> contents = new LinkedHashMap<>();
            Map<String, byte[]> wholes = new LinkedHashMap<>();
            DcpImage image = new DcpImage();
            for (int t = 0, count = 1 + random.nextInt(5); t < count; t++) {
                String name = "t." + t;
                Shape shape = shape(random);
                byte[] whole = new byte[(int) shape.elements() * 2];
                random.nextBytes(whole);
                wholes.put(name, whole);
                var sample = new WriteInteropSamples.Sample(name, DType.BF16, shape);
                List<DcpImage.Chunk> chunks = new ArrayList<>();
                for (long[][] box : divide(random, shape)) {
                    String key = name + "/" + chunks.size();
                    chunks.add(new DcpImage.Chunk(box[0], box[1], key, random.nextInt(4)));
                    contents.put(key, WriteInteropSamples.cut(whole, sample, box));
                }
                image.tensor(name, DType.BF16, shape, chunks);
            }
            for (FileImage file : image.build()) {
                Files.write(ckpt.resolve(file.path()), ImageBytes.of(file, contents::get));
            }
            try (FilePool pool = new FilePool()) {
                DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, ckpt);
                assertThat(checkpoint.check()).isEmpty();
                for (DcpTensor tensor : checkpoint.tensors()) {
                    assertThat(WholeTensors.bytes(tensor)).isEqualTo(wholes.get(tensor.name()));
                }
            }
        });
    }

    @Test
    void numbersAndPathsOfEverySizeAreReadBack() throws IOException {
        long[] large = {0, 255, 256, 65_535, 65_536, Integer.MAX_VALUE, 1L << 31, 1L << 40};
        DcpImage image = new DcpImage();
        for (long offset : large) {
            Shape shape = Shape.of(offset + 1);
            String name = "näme\n" + offset;
            image.tensor(
                    name, DType.U8, shape, List.of(new DcpImage.Chunk(new long[] {offset}, new long[] {1}, name, 0)));
            image.path(name, List.of(new PyStr("list"), PyInt.of(offset)));
        }
        List<FileImage> files = image.build();
        for (FileImage file : files) {
            Files.write(folder.resolve(file.path()), ImageBytes.of(file, key -> new byte[] {7}));
        }
        assertThat(files).extracting(FileImage::path).containsExactly("__0_0.distcp", ".metadata");
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, folder);
            for (long offset : large) {
                DcpTensor tensor = checkpoint.tensor("näme\n" + offset).orElseThrow();
                assertThat(tensor.shape()).isEqualTo(Shape.of(offset + 1));
                assertThat(tensor.chunks().get(0).offsets()).containsExactly(offset);
                assertThat(tensor.chunks().get(0).open().bytes()).isEqualTo(1);
                List<PyValue> path = List.of(new PyStr("list"), PyInt.of(offset));
                assertThat(checkpoint.path(tensor.name())).isEqualTo(path);
            }
        }
    }

    @Test
    void givesTheSameBytesOnEveryRun() throws IOException {
        Path first = Files.createDirectory(folder.resolve("1"));
        Path second = Files.createDirectory(folder.resolve("2"));
        WriteInteropSamples.main(new String[] {first.toString()});
        WriteInteropSamples.main(new String[] {second.toString()});
        try (var files = Files.walk(first)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                assertThat(second.resolve(first.relativize(file))).hasSameBinaryContentAs(file);
            }
        }
    }

    @Test
    void refusesWhatDistributedCheckpointsCannotHold() {
        assertThatThrownBy(() -> new DcpImage().tensor("q", DType.QINT8, Shape.of(1), List.of()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("no tensors of type qint8");
        assertThatThrownBy(() -> new DcpImage().object("a", PyInt.of(1), 0).object("a", PyInt.of(2), 0))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("two entries would have the name a");
    }

    @Test
    void metadataHasNoTraceOfWhereOrWhenItWasWritten() throws IOException {
        DcpImage image = new DcpImage().object("a", PyInt.of(1), 0);
        byte[] metadata = image.build().get(1).literals().get(0).bytes();
        assertThat(new String(metadata, StandardCharsets.ISO_8859_1)).doesNotContain(folder.toString());
    }

    private static Shape shape(RandomGenerator random) {
        long[] sizes = new long[random.nextInt(4)];
        for (int dim = 0; dim < sizes.length; dim++) {
            sizes[dim] = random.nextInt(7);
        }
        return Shape.of(sizes);
    }

    /** Cuts at random places, again and again: no grid in general. */
    private static List<long[][]> divide(RandomGenerator random, Shape shape) {
        List<long[][]> boxes = new ArrayList<>();
        boxes.add(new long[][] {new long[shape.rank()], shape.toArray()});
        for (int cut = random.nextInt(6); cut > 0 && shape.rank() > 0; cut--) {
            long[][] box = boxes.remove(random.nextInt(boxes.size()));
            int dim = random.nextInt(shape.rank());
            long[][] rest = {box[0].clone(), box[1].clone()};
            long at = box[1][dim] < 2 ? box[1][dim] : 1 + random.nextLong(box[1][dim] - 1);
            box[1][dim] = at;
            rest[0][dim] += at;
            rest[1][dim] -= at;
            boxes.add(box);
            if (rest[1][dim] > 0) {
                boxes.add(rest);
            }
        }
        return boxes;
    }
}
