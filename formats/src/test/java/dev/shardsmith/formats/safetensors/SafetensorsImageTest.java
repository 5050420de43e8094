package dev.shardsmith.formats.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.safetensors.SafetensorsImage.Tensor;
import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SafetensorsImageTest {
    private static final Map<String, String> PT = Map.of("format", "pt");

    @Test
    void writesTheKnownHeaders() throws IOException {
        assertThat(text(SafetensorsImage.of("m", List.of(), Map.of()))).isEqualTo("{}      ");
        assertThat(text(SafetensorsImage.of("m", List.of(f32("attn.0", 1, 2, 3)), Map.of())))
                .isEqualTo("{\"attn.0\":{\"dtype\":\"F32\",\"shape\":[1,2,3],\"data_offsets\":[0,24]}}");
        assertThat(text(SafetensorsImage.of("m", List.of(f32("attn0", 1, 1, 2, 3)), Map.of())))
                .isEqualTo("{\"attn0\":{\"dtype\":\"F32\",\"shape\":[1,1,2,3],\"data_offsets\":[0,24]}}       ");
    }

    @Test
    void sortsByTypeThenNameAndPutsMetadataFirst() throws IOException {
        List<Tensor> tensors = List.of(
                new Tensor("b", DType.U8, Shape.of(1)),
                new Tensor("z", DType.BF16, Shape.of(2)),
                new Tensor("\uFF5A", DType.BF16, Shape.of(2)),
                new Tensor("\uD83D\uDE00", DType.BF16, Shape.of(2)),
                new Tensor("c", DType.U64, Shape.SCALAR),
                new Tensor("a", DType.BOOL, Shape.of(0)));
        FileImage image = SafetensorsImage.of("m", tensors, PT);
        assertThat(image.slots())
                .extracting(FileImage.Slot::key)
                .containsExactly("c", "z", "\uFF5A", "\uD83D\uDE00", "b", "a");
        assertThat(text(image)).startsWith("{\"__metadata__\":{\"format\":\"pt\"},\"c\":");
        assertThat(image.slots().get(0).offset() % 8).isZero();
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void writesEveryTypeTheFormatHasAndRefusesTheOthers(DType dtype) throws IOException {
        List<Tensor> tensors = List.of(new Tensor("w", dtype, Shape.of(2, 4)));
        if (dtype.safetensorsName().isEmpty()) {
            assertThatThrownBy(() -> SafetensorsImage.of("m", tensors, PT))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("no element type for " + dtype.torchName());
            return;
        }
        SafetensorsFile file = SafetensorsFile.open(write(SafetensorsImage.of("m", tensors, PT)));
        StoredTensor tensor = file.entry("w").orElseThrow().tensor();
        assertThat(tensor.dtype()).isEqualTo(dtype);
        assertThat(tensor.shape()).isEqualTo(Shape.of(2, 4));
    }

    @Test
    void refusesWhatTheFormatCannotHold() {
        assertRefused("two tensors", f32("a"), f32("a"));
        assertRefused("of this name", f32("__metadata__"));
        assertRefused("of this name", f32("\uD800"));
        assertRefused("whole bytes", new Tensor("a", DType.F6_E2M3, Shape.of(2)));
        assertRefused("at least one dimension", new Tensor("a", DType.F4_E2M1FN_X2, Shape.SCALAR));
    }

    @Test
    void whatIsWrittenIsReadBack() {
        Cases.forAll(200, random -> {
            List<DType> types = List.of(DType.F32, DType.BF16, DType.U8, DType.I64, DType.F4_E2M1FN_X2);
            List<Tensor> tensors = new ArrayList<>();
            for (int i = 0, count = random.nextInt(20); i < count; i++) {
                long[] sizes = IntStream.range(0, 1 + random.nextInt(3))
                        .mapToLong(d -> random.nextInt(4))
                        .toArray();
                String name = "t\"\\\n\u0001\u00e9" + i;
                tensors.add(new Tensor(name, types.get(random.nextInt(types.size())), Shape.of(sizes)));
            }
            FileImage image = SafetensorsImage.of("m", tensors, Map.of("k\t", "v\u20ac"));
            SafetensorsFile file = SafetensorsFile.open(write(image));
            assertThat(file.metadata()).containsEntry("k\t", "v\u20ac");
            assertThat(file.entries()).hasSize(tensors.size());
            for (FileImage.Slot slot : image.slots()) {
                StoredTensor tensor = file.entry(slot.key()).orElseThrow().tensor();
                assertThat(tensor.offset()).isEqualTo(slot.offset());
                assertThat(tensor.bytes()).isEqualTo(slot.length());
            }
            Collections.shuffle(tensors, new Random(1));
            assertThat(write(SafetensorsImage.of("m", tensors, Map.of("k\t", "v\u20ac")))
                            .readBytes(0, (int) image.size()))
                    .isEqualTo(write(image).readBytes(0, (int) image.size()));
        });
    }

    @Test
    void dividesGreedilyAndGivesLargeTensorsTheirOwnFile() throws IOException {
        List<Tensor> tensors = List.of(f32("a", 2), f32("big", 100), f32("b", 2), f32("c", 1), f32("d", 1));
        assertThat(SafetensorsShards.divide(tensors, 16).stream().map(SafetensorsImageTest::names))
                .containsExactly("[big]", "[a, b]", "[c, d]");
        assertThat(SafetensorsShards.divide(tensors, 1000).stream().map(SafetensorsImageTest::names))
                .containsExactly("[a, big, b, c, d]");
        List<FileImage> images = SafetensorsShards.of(tensors, PT, 16);
        assertThat(images)
                .extracting(FileImage::path)
                .containsExactly(
                        "model-00001-of-00003.safetensors",
                        "model-00002-of-00003.safetensors",
                        "model-00003-of-00003.safetensors",
                        "model.safetensors.index.json");
        String index = new String(images.get(3).literals().get(0).bytes(), StandardCharsets.UTF_8);
        assertThat(index).isEqualTo("""
                {
                  "metadata": {
                    "total_size": 424
                  },
                  "weight_map": {
                    "a": "model-00002-of-00003.safetensors",
                    "b": "model-00002-of-00003.safetensors",
                    "big": "model-00001-of-00003.safetensors",
                    "c": "model-00003-of-00003.safetensors",
                    "d": "model-00003-of-00003.safetensors"
                  }
                }
                """);
        assertThat(SafetensorsIndex.read(write(images.get(3))).check(contents(images)))
                .isEmpty();
    }

    @Test
    void needsNoIndexForOneFile() throws IOException {
        assertThat(SafetensorsShards.of(List.of(f32("a", 2)), PT, 16))
                .extracting(FileImage::path)
                .containsExactly("model.safetensors");
        assertThat(SafetensorsShards.of(List.of(), PT, 16)).hasSize(1);
    }

    private static Map<String, Map<String, Long>> contents(List<FileImage> images) throws IOException {
        Map<String, Map<String, Long>> shards = new LinkedHashMap<>();
        for (FileImage image : images.subList(0, images.size() - 1)) {
            Map<String, Long> bytes = new LinkedHashMap<>();
            SafetensorsFile.open(write(image)).entries().forEach(entry -> bytes.put(entry.name(), entry.bytes()));
            shards.put(image.path(), bytes);
        }
        return shards;
    }

    private static String names(List<Tensor> tensors) {
        return tensors.stream().map(Tensor::name).toList().toString();
    }

    private static Tensor f32(String name, long... sizes) {
        return new Tensor(name, DType.F32, Shape.of(sizes));
    }

    private static void assertRefused(String message, Tensor... tensors) {
        assertThatThrownBy(() -> SafetensorsImage.of("m", List.of(tensors), PT))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message);
    }

    private static String text(FileImage image) throws IOException {
        ByteSource file = write(image);
        return new String(file.readBytes(8, (int) file.readBuffer(0, 8).getLong()), StandardCharsets.UTF_8);
    }

    private static ByteSource write(FileImage image) {
        byte[] bytes = new byte[Math.toIntExact(image.size())];
        for (FileImage.Literal literal : image.literals()) {
            System.arraycopy(literal.bytes(), 0, bytes, (int) literal.offset(), literal.bytes().length);
        }
        return ByteSource.of(image.path(), bytes);
    }
}
