package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every file that torch.save wrote is read as PyTorch reads it. */
class TorchFileGoldenTest {
    static Stream<Path> files() {
        return Stream.of("pytorch-zip", "pytorch-legacy", "pytorch-damaged")
                .flatMap(group -> TestData.cases(group).stream())
                .filter(folder -> TestData.expected(folder).has("tensors"))
                .filter(folder -> !folder.endsWith("flip_in_storage"));
    }

    @ParameterizedTest
    @MethodSource("files")
    void everyTensorHasItsTypeShapePlaceAndElements(Path folder) throws IOException {
        JsonNode expected = TestData.expected(folder);
        try (FilePool files = new FilePool()) {
            TorchFile file = TorchFile.open(
                    files, folder.resolve(expected.path("main_file").asText("model.pt")));

            List<String> names = file.tensors().stream().map(NamedTensor::name).toList();
            assertThat(names).containsExactlyElementsOf(texts(expected.get("tensors"), "name"));
            for (int i = 0; i < names.size(); i++) {
                assertTensor(
                        file, file.tensors().get(i), expected.get("tensors").get(i));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("files")
    void everyOtherValueIsWhatPythonHas(Path folder) throws IOException {
        JsonNode expected = TestData.expected(folder);
        try (FilePool files = new FilePool()) {
            TorchFile file = TorchFile.open(
                    files, folder.resolve(expected.path("main_file").asText("model.pt")));

            assertThat(new ExpectedTree(file).check(expected.get("root"))).isPositive();
        }
    }

    private static void assertTensor(TorchFile file, NamedTensor named, JsonNode expected) throws IOException {
        TorchTensor tensor = named.tensor();
        Map<String, Object> found = new LinkedHashMap<>();
        Map<String, Object> wanted = new LinkedHashMap<>();
        found.put(
                "dtype",
                tensor.dtype().map(DType::torchName).map("torch."::concat).orElse("?"));
        wanted.put("dtype", expected.get("dtype").asText());
        found.put("shape", Arrays.toString(tensor.shape().toArray()));
        wanted.put("shape", numbers(expected.get("shape")));
        found.put("class", tensor.type());
        wanted.put("class", expected.get("class").asText());
        found.put("device", tensor.device());
        wanted.put("device", expected.get("device").asText());
        found.put("requires_grad", tensor.requiresGrad());
        wanted.put("requires_grad", expected.get("requires_grad").asBoolean());
        found.put("layout", layout(tensor.kind()));
        wanted.put("layout", expected.get("layout").asText());
        if (expected.has("stride")) {
            found.put("stride", Arrays.toString(tensor.strides()));
            wanted.put("stride", numbers(expected.get("stride")));
            found.put("storage_offset", tensor.storageOffset());
            wanted.put("storage_offset", expected.get("storage_offset").asLong());
        }
        if (expected.has("storage_nbytes")) {
            found.put("storage_nbytes", tensor.storage().orElseThrow().bytes());
            wanted.put("storage_nbytes", expected.get("storage_nbytes").asLong());
        }
        if (expected.has("is_coalesced")) {
            found.put("is_coalesced", tensor.coalesced().orElseThrow());
            wanted.put("is_coalesced", expected.get("is_coalesced").asBoolean());
        }
        if (expected.hasNonNull("sha256")) {
            found.put("sha256", ElementReader.sha256(tensor.data().orElseThrow()));
            wanted.put("sha256", expected.get("sha256").asText());
        }
        assertThat(found).as(named.name()).isEqualTo(wanted);
        assertThat(file.tensor(named.node())).contains(tensor);
    }

    private static String layout(TensorKind kind) {
        return switch (kind) {
            case STRIDED, QUANTIZED, META, SUBCLASS, NESTED, FOREIGN, UNINITIALIZED -> "torch.strided";
            case SPARSE_COO, SPARSE_CSR, SPARSE_CSC, SPARSE_BSR, SPARSE_BSC ->
                "torch." + kind.name().toLowerCase(Locale.ROOT);
        };
    }

    private static List<String> texts(JsonNode list, String field) {
        return list.findValuesAsText(field).isEmpty()
                ? List.of()
                : Stream.iterate(0, i -> i < list.size(), i -> i + 1)
                        .map(i -> list.get(i).get(field).asText())
                        .toList();
    }

    private static String numbers(JsonNode list) {
        long[] values = new long[list.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = list.get(i).asLong();
        }
        return Arrays.toString(values);
    }
}
