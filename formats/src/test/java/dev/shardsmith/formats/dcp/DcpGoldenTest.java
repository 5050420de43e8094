package dev.shardsmith.formats.dcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DcpGoldenTest {
    /** Folder of each checkpoint and the node that says what it holds. */
    record Golden(String name, Path folder, JsonNode expected) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Golden> all() {
        return Stream.concat(
                TestData.cases("dcp").stream()
                        .map(group -> new Golden(
                                group.getFileName().toString(), group.resolve("ckpt"), TestData.expected(group))),
                TestData.cases("megatron-torch-dist").stream().flatMap(DcpGoldenTest::megatron));
    }

    static Stream<Golden> withTable() {
        return all().filter(golden -> golden.expected().has("metadata"));
    }

    private static Stream<Golden> megatron(Path group) {
        JsonNode expected = TestData.expected(group);
        if (!expected.has("checkpoints")) {
            return Stream.of(new Golden(group.getFileName().toString(), iteration(group), expected));
        }
        List<Golden> several = new ArrayList<>();
        expected.get("checkpoints")
                .fields()
                .forEachRemaining(checkpoint -> several.add(new Golden(
                        checkpoint.getKey(),
                        group.resolve(checkpoint.getValue().get("dir").asText()),
                        checkpoint.getValue())));
        return several.stream();
    }

    private static Path iteration(Path group) {
        try (Stream<Path> folders = Files.list(group)) {
            return folders.filter(Files::isDirectory).findFirst().orElseThrow();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Path folder(Golden golden) {
        Path sharded = golden.folder().resolve("sharded");
        return Files.isDirectory(sharded) ? sharded : golden.folder();
    }

    @ParameterizedTest
    @MethodSource("all")
    void everyTensorHasTheExpectedElements(Golden golden) throws IOException {
        Map<String, JsonNode> expected = byName(golden.expected().get("tensors"));
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, folder(golden));
            assertThat(checkpoint.tensors())
                    .extracting(DcpTensor::name)
                    .containsExactlyInAnyOrderElementsOf(expected.keySet());
            for (DcpTensor tensor : checkpoint.tensors()) {
                JsonNode want = expected.get(tensor.name());
                assertThat("torch." + tensor.dtypeName())
                        .isEqualTo(want.get("dtype").asText());
                assertThat(tensor.logicalShape().toString())
                        .isEqualTo(want.get("shape").toString().replace(",", ", "));
                assertThat(WholeTensors.sha256(tensor))
                        .as(tensor.name())
                        .isEqualTo(want.get("sha256").asText());
            }
            pool.verifyUnchanged();
        }
    }

    @ParameterizedTest
    @MethodSource("all")
    void nothingIsMissingOrDoubled(Golden golden) throws IOException {
        try (FilePool pool = new FilePool()) {
            assertThat(DcpCheckpoint.open(pool, folder(golden)).check()).isEmpty();
        }
    }

    @ParameterizedTest
    @MethodSource("withTable")
    void everyChunkLiesWhereTheLibraryPutIt(Golden golden) throws IOException {
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, golden.folder());
            for (Map.Entry<String, JsonNode> entry :
                    golden.expected().get("metadata").properties()) {
                List<DcpPlace> places = new ArrayList<>();
                List<String> chunks = new ArrayList<>();
                if (checkpoint.hasObject(entry.getKey())) {
                    places.add(checkpoint.objectPlace(entry.getKey()));
                } else {
                    DcpTensor tensor = checkpoint.tensor(entry.getKey()).orElseThrow();
                    for (DcpChunk chunk : tensor.chunks()) {
                        places.add(chunk.place());
                        chunks.add(List.of(boxed(chunk.offsets()), boxed(chunk.sizes()))
                                .toString());
                    }
                    List<String> wanted = new ArrayList<>();
                    entry.getValue()
                            .get("chunks")
                            .forEach(chunk -> wanted.add(
                                    "[" + spaced(chunk.get("offsets")) + ", " + spaced(chunk.get("sizes")) + "]"));
                    assertThat(chunks).isEqualTo(wanted);
                }
                List<DcpPlace> wanted = new ArrayList<>();
                entry.getValue()
                        .get("stored")
                        .forEach(stored -> wanted.add(new DcpPlace(
                                stored.get("file").asText(),
                                stored.get("offset").asLong(),
                                stored.get("length").asLong(),
                                List.of())));
                assertThat(places).containsExactlyInAnyOrderElementsOf(wanted);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("withTable")
    void pathsInTheStateDictAreKept(Golden golden) throws IOException {
        JsonNode planner = golden.expected().get("planner_data");
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, golden.folder());
            assertThat(checkpoint.hasPaths()).isEqualTo(!planner.isNull());
            for (Map.Entry<String, JsonNode> entry : planner.properties()) {
                List<PyValue> wanted = new ArrayList<>();
                entry.getValue()
                        .forEach(part -> wanted.add(part.isInt() ? PyInt.of(part.asLong()) : new PyStr(part.asText())));
                assertThat(checkpoint.path(entry.getKey())).isEqualTo(wanted);
            }
            assertThat(checkpoint.version())
                    .isEqualTo(golden.expected().at("/metadata_extra/version").asText());
        }
    }

    @ParameterizedTest
    @MethodSource("withTable")
    void everyObjectOpens(Golden golden) throws IOException {
        List<String> names = new ArrayList<>();
        JsonNode objects = golden.expected().get("objects");
        objects.properties().forEach(entry -> names.add(entry.getKey()));
        if (objects.isArray()) {
            objects.forEach(name -> names.add(name.asText()));
        }
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, golden.folder());
            assertThat(checkpoint.objects()).containsExactlyInAnyOrderElementsOf(names);
            for (String name : names) {
                TorchFile object = checkpoint.object(name);
                if (objects.isArray()) {
                    // Megatron wraps each object in a list.
                    assertThat(object.root()).isInstanceOf(PyList.class);
                    assertThat(((PyList) object.root()).items()).hasSize(1);
                } else if (objects.get(name).get("type").asText().equals("int")) {
                    assertThat(object.root())
                            .isEqualTo(PyInt.of(objects.get(name).get("value").asLong()));
                } else if (objects.get(name).get("type").asText().equals("str")) {
                    assertThat(object.root())
                            .isEqualTo(new PyStr(objects.get(name).get("value").asText()));
                }
            }
        }
    }

    @Test
    void consolidatedFilesOfTheHuggingFaceFormAreNotTakenForParts() throws IOException {
        Path folder = TestData.path("dcp", "ws2_hf_consolidated", "ckpt");
        try (FilePool pool = new FilePool()) {
            assertThat(DcpCheckpoint.open(pool, folder.resolve("sharded")).tensors())
                    .hasSize(3);
        }
    }

    private static Map<String, JsonNode> byName(JsonNode tensors) {
        Map<String, JsonNode> byName = new LinkedHashMap<>();
        if (tensors.isArray()) {
            tensors.forEach(tensor -> byName.put(tensor.get("name").asText(), tensor));
        } else {
            tensors.properties().forEach(entry -> byName.put(entry.getKey(), entry.getValue()));
        }
        return byName;
    }

    private static List<Long> boxed(long[] numbers) {
        return Arrays.stream(numbers).boxed().toList();
    }

    private static String spaced(JsonNode numbers) {
        return numbers.toString().replace(",", ", ");
    }
}
