package dev.shardsmith.formats.safetensors;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SafetensorsGoldenTest {
    static Stream<Path> modelsWithSafetensors() {
        return TestData.cases("hf").stream().filter(folder -> Files.isDirectory(folder.resolve("safetensors")));
    }

    @ParameterizedTest
    @MethodSource("modelsWithSafetensors")
    void shardedModelHasEveryExpectedTensor(Path model) throws Exception {
        checkFolder(model.resolve("safetensors"), TestData.expected(model).get("tensors_in_safetensors"));
    }

    @ParameterizedTest
    @MethodSource("modelsWithSafetensors")
    void indexOfTheReferenceFitsItsFiles(Path model) throws IOException {
        Path folder = model.resolve("safetensors");
        try (FilePool pool = new FilePool()) {
            SafetensorsIndex index =
                    SafetensorsIndex.read(pool.file(folder.resolve(SafetensorsIndex.SAFETENSORS_NAME)));
            Map<String, Map<String, Long>> shards = new LinkedHashMap<>();
            for (String file : index.files()) {
                Map<String, Long> bytes = new LinkedHashMap<>();
                SafetensorsFile.open(pool.file(folder.resolve(file)))
                        .entries()
                        .forEach(entry -> bytes.put(entry.name(), entry.bytes()));
                shards.put(file, bytes);
            }
            assertThat(index.check(shards)).isEmpty();
            assertThat(index.totalSize()).isPresent();
        }
    }

    @Test
    void singleFileModelsHaveEveryExpectedTensor() throws Exception {
        for (String name : List.of("mamba2", "mamba2_tied")) {
            Path model = TestData.path("hf", name);
            checkFolder(
                    model.resolve("safetensors_single"),
                    TestData.expected(model).get("tensors_in_safetensors"));
        }
    }

    private static void checkFolder(Path folder, JsonNode expected) throws Exception {
        int seen = 0;
        try (FilePool pool = new FilePool()) {
            for (Path path : safetensorsFiles(folder)) {
                SafetensorsFile file = SafetensorsFile.open(pool.file(path));
                assertThat(file.metadata()).containsEntry("format", "pt");
                for (SafetensorsEntry entry : file.entries()) {
                    JsonNode want = expected.get(entry.name());
                    assertThat(want).as(entry.name()).isNotNull();
                    StoredTensor tensor = entry.tensor();
                    assertThat("torch." + tensor.dtype().torchName())
                            .isEqualTo(want.get("dtype").asText());
                    assertThat(tensor.shape().toString())
                            .isEqualTo(want.get("shape").toString().replace(",", ", "));
                    assertThat(sha256(tensor))
                            .as(entry.name())
                            .isEqualTo(want.get("sha256").asText());
                    seen++;
                }
            }
        }
        assertThat(seen).isEqualTo(expected.size());
    }

    private static List<Path> safetensorsFiles(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".safetensors"))
                    .sorted()
                    .toList();
        }
    }

    private static String sha256(StoredTensor tensor) throws Exception {
        byte[] bytes = tensor.source().readBytes(tensor.offset(), Math.toIntExact(tensor.bytes()));
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }
}
