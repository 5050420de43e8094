package dev.shardsmith.verify.digest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.Golden;
import dev.shardsmith.verify.diff.ElementPlace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointManifestTest {
    private static CheckpointManifest manifest(Path path) throws IOException {
        try (ModelView view = Golden.open(path)) {
            return CheckpointManifest.of(view, 2, bytes -> {});
        }
    }

    private static Map<String, TensorEntry> byName(CheckpointManifest manifest) {
        Map<String, TensorEntry> entries = new LinkedHashMap<>();
        manifest.tensors().forEach(entry -> entries.put(entry.name(), entry));
        return entries;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "current_plain_bf16",
                "older_plain_bf16",
                "older_plain_fp32",
                "current_swiglu_float16module",
                "current_moe_swiglu_tied"
            })
    void oneModelHasOneManifestInEveryParallelSize(String group) throws IOException {
        Path root = TestData.path("megatron-legacy", group);
        JsonNode expected = TestData.expected(root);
        Map<String, TensorEntry> whole = byName(manifest(root.resolve("tp1pp1")));
        JsonNode saved = expected.get("checkpoints").fields().next().getValue().get("model");
        assertThat(whole).isNotEmpty();
        whole.forEach((name, entry) -> assertThat(entry.sha256())
                .as(name)
                .isEqualTo(saved.get(name).get("sha256").asText()));
        int layouts = 0;
        try (var folders = Files.list(root)) {
            for (Path folder : folders.filter(Files::isDirectory).sorted().toList()) {
                assertThat(byName(manifest(folder))).as("%s", folder).isEqualTo(whole);
                layouts++;
            }
        }
        assertThat(layouts).isGreaterThan(1);
    }

    /** NVIDIA's older tool divides gate and up of SwiGLU as if they were one matrix: its shards are another model. */
    @Test
    void shardsOfAnotherModelHaveAnotherManifest() throws IOException {
        Path root = TestData.path("megatron-legacy", "older_swiglu_float16module");
        Map<String, TensorEntry> whole = byName(manifest(root.resolve("tp1pp1")));
        Map<String, TensorEntry> shards = byName(manifest(root.resolve("tp2pp1")));
        assertThat(shards.keySet()).isEqualTo(whole.keySet());
        assertThat(whole.keySet().stream().filter(name -> !whole.get(name).equals(shards.get(name))))
                .isNotEmpty()
                .allMatch(name -> name.endsWith("mlp.linear_fc1.weight"));
    }

    @Test
    void distributedCheckpointsHaveTheManifestOfTheLegacyOnes() throws IOException {
        Map<String, TensorEntry> legacy =
                byName(manifest(TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1")));
        for (String layout :
                List.of("plain_bf16_tp1pp1", "plain_bf16_tp2pp1", "plain_bf16_tp2pp1dp2", "plain_bf16_tp2pp2")) {
            assertThat(byName(manifest(checkpoint("megatron-torch-dist", layout))))
                    .as(layout)
                    .isEqualTo(legacy);
        }
    }

    private static Path checkpoint(String group, String name) {
        return TestData.path(group, name);
    }

    @Test
    void aManifestIsReadAsItWasWritten(@TempDir Path folder) throws IOException {
        CheckpointManifest manifest = manifest(TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2"));
        Path file = folder.resolve("manifest");
        manifest.write(WholeFile.replacing(file));
        assertThat(CheckpointManifest.read(file)).isEqualTo(manifest);
        assertThat(manifest.files())
                .extracting(FileEntry::path)
                .contains("iter_0000100/mp_rank_00_000/model_optim_rng.pt");
    }

    @Test
    void nothingIsFoundInACheckpointThatIsWhole() throws IOException {
        Path path = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        assertThat(check(manifest(path), path)).isEmpty();
    }

    @Test
    void theSameModelInAnotherLayoutPasses() throws IOException {
        CheckpointManifest manifest = manifest(TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2"));
        assertThat(check(manifest, TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1")))
                .noneMatch(finding -> !finding.tensor().isEmpty());
    }

    /** Files of two layouts may have the same names. */
    @Test
    void everyLayoutPassesWithTheManifestOfEveryOther() throws IOException {
        List<Path> layouts = Stream.of("tp1pp1", "tp2pp1", "tp2pp2")
                .map(layout -> TestData.path("megatron-legacy", "current_plain_bf16", layout))
                .toList();
        for (Path made : layouts) {
            for (Path checked : layouts) {
                assertThat(together(manifest(made), checked))
                        .as("%s against %s", checked, made)
                        .isEmpty();
            }
        }
    }

    @Test
    void aFlippedBitOfACopyOnAnotherRankIsFoundWithAnyManifest(@TempDir Path folder) throws IOException {
        Path copy = Golden.copy(folder.resolve("c"), "megatron-legacy", "current_plain_bf16", "tp2pp2");
        CheckpointManifest own = manifest(copy);
        CheckpointManifest other = manifest(TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1"));
        StoredTensor replica = replica(copy, "decoder.layers.0.mixer.in_proj.layer_norm_weight");
        long offset = replica.source().inFile().orElseThrow().offset() + replica.offset() + 6;
        Path file = replica.source().inFile().orElseThrow().file();
        Golden.flip(file, offset, 3);

        for (CheckpointManifest manifest : List.of(own, other)) {
            assertThat(together(manifest, copy))
                    .filteredOn(finding -> finding.code() == ManifestFinding.Code.TENSOR_COPY)
                    .singleElement()
                    .satisfies(finding -> {
                        assertThat(finding.tensor()).isEqualTo("decoder.layers.0.mixer.in_proj.layer_norm_weight");
                        assertThat(copy.resolve(finding.file())).isEqualTo(file);
                        assertThat(finding.offset()).isEqualTo(offset);
                        assertThat(finding.length()).isEqualTo(2);
                    });
        }
        // As it was when the manifest was made: nothing rotted.
        assertThat(together(manifest(copy), copy)).isEmpty();
    }

    private static StoredTensor replica(Path checkpoint, String tensor) throws IOException {
        try (ModelView view = Golden.open(checkpoint)) {
            return view.tensors().get(tensor).replicas().get(0).data();
        }
    }

    @Test
    void theIterationsFolderHasTheFilesOfTheRootAndTheOtherWayRound(@TempDir Path folder) throws IOException {
        Path copy = Golden.copy(folder.resolve("c"), "megatron-legacy", "current_plain_bf16", "tp1pp1");
        Path iteration = copy.resolve("iter_0000100");
        CheckpointManifest ofRoot = manifest(copy);
        CheckpointManifest ofIteration = manifest(iteration);
        Golden.flip(iteration.resolve("mp_rank_00/model_optim_rng.pt"), 5000, 0);

        for (List<ManifestFinding> findings : List.of(
                ManifestCheck.of(ofRoot, iteration).checkFiles(1),
                ManifestCheck.of(ofIteration, copy).checkFiles(1),
                ManifestCheck.of(ofRoot, copy).checkFiles(1))) {
            assertThat(findings).extracting(ManifestFinding::offset).containsExactly(4096L);
        }
    }

    @Test
    void aSingleFileMayHaveAnotherName(@TempDir Path folder) throws IOException {
        Path file = TestData.path(
                "megatron-legacy", "current_plain_bf16", "tp1pp1", "iter_0000100", "mp_rank_00", "model_optim_rng.pt");
        Path renamed = Files.copy(file, folder.resolve("other.pt"));
        CheckpointManifest manifest = manifest(file);
        assertThat(ManifestCheck.of(manifest, renamed).checkFiles(1)).isEmpty();
        Golden.flip(renamed, 9000, 0);

        assertThat(ManifestCheck.of(manifest, renamed).checkFiles(1))
                .extracting(ManifestFinding::offset)
                .containsExactly(8192L);
    }

    @Test
    void aManifestLeadsToNoFileOutsideOfTheCheckpoint(@TempDir Path folder) throws IOException {
        Path inside = Files.createDirectory(folder.resolve("c")).resolve("model.pt");
        Path outside = folder.resolve("model.pt");
        Files.write(inside, new byte[] {1, 2, 3});
        Files.write(outside, new byte[] {1, 2, 4});
        for (String path : List.of("../model.pt", outside.toString(), "x/../../model.pt")) {
            try (FilePool pool = new FilePool()) {
                FileEntry entry = new FileEntry(path, 3, 4096, FileEntry.sums(pool.file(outside), 0, 3, 4096));
                CheckpointManifest manifest = new CheckpointManifest(List.of(), List.of(entry));
                assertThat(ManifestCheck.of(manifest, folder.resolve("c")).checkFiles(1))
                        .as(path)
                        .extracting(ManifestFinding::code)
                        .containsExactly(ManifestFinding.Code.FILE_BLOCK);
            }
        }
    }

    private static List<ManifestFinding> together(CheckpointManifest manifest, Path path) throws IOException {
        ManifestCheck check = ManifestCheck.of(manifest, path);
        List<ManifestFinding> ofFiles = check.checkFiles(2);
        try (ModelView view = Golden.open(path)) {
            return check.together(ofFiles, check.checkTensors(view, ofFiles, 2, bytes -> {}));
        }
    }

    private static List<ManifestFinding> check(CheckpointManifest manifest, Path path) throws IOException {
        ManifestCheck check = ManifestCheck.of(manifest, path);
        List<ManifestFinding> findings = new ArrayList<>(check.checkFiles(2));
        try (ModelView view = Golden.open(path)) {
            findings.addAll(check.checkTensors(view, List.copyOf(findings), 2, bytes -> {}));
        }
        return findings;
    }

    @Test
    void aFlippedBitIsFoundWithTensorFileAndBytes(@TempDir Path folder) throws IOException {
        Path intact = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        CheckpointManifest manifest = manifest(intact);
        List<LogicalTensor> tensors;
        try (ModelView view = Golden.open(intact)) {
            tensors = List.copyOf(view.tensors().values());
            Cases.forAll(12, random -> {
                LogicalTensor tensor = tensors.get(random.nextInt(tensors.size()));
                long element = random.nextLong(tensor.shape().elements());
                ElementPlace place = ElementPlace.of(tensor, element).orElseThrow();
                Path copy = Golden.copy(
                        folder.resolve("copy" + random.nextLong()), "megatron-legacy", "current_plain_bf16", "tp2pp2");
                String file = intact.relativize(place.file()).toString();
                Golden.flip(copy.resolve(file), place.offset(), random.nextInt(8));
                List<ManifestFinding> findings = check(manifest, copy);
                assertThat(findings).anySatisfy(finding -> {
                    assertThat(finding.code()).isEqualTo(ManifestFinding.Code.TENSOR_DIGEST);
                    assertThat(finding.tensor()).isEqualTo(tensor.name());
                    assertThat(finding.file()).isEqualTo(file);
                    assertThat(place.offset()).isBetween(finding.offset(), finding.offset() + finding.length() - 1);
                });
                assertThat(findings)
                        .filteredOn(finding -> finding.code() == ManifestFinding.Code.FILE_BLOCK)
                        .hasSize(1);
            });
        }
    }

    @Test
    void changedBlocksThatFollowEachOtherAreOneRange(@TempDir Path folder) throws IOException {
        Path copy = Golden.copy(folder.resolve("c"), "megatron-legacy", "current_plain_bf16", "tp1pp1");
        String file = "iter_0000100/mp_rank_00/model_optim_rng.pt";
        CheckpointManifest manifest = manifest(copy);
        byte[] bytes = Files.readAllBytes(copy.resolve(file));
        assertThat(bytes.length).isGreaterThan(6 * 4096);
        for (int block : new int[] {1, 2, 5}) {
            bytes[block * 4096 + 7] ^= 1;
        }
        Files.write(copy.resolve(file), bytes);

        assertThat(ManifestCheck.of(manifest, copy).checkFiles(1))
                .extracting(ManifestFinding::offset, ManifestFinding::length, ManifestFinding::message)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(4096L, 8192L, file + ": bytes 4096 to 12287 changed"),
                        org.assertj.core.groups.Tuple.tuple(20480L, 4096L, file + ": bytes 20480 to 24575 changed"));
    }

    @Test
    void filesThatAreMissingCutOrChangedAreNamed(@TempDir Path folder) throws IOException {
        Path copy = Golden.copy(folder.resolve("c"), "megatron-legacy", "current_plain_bf16", "tp2pp1");
        CheckpointManifest manifest = manifest(copy);
        Path file = copy.resolve("iter_0000100/mp_rank_01/model_optim_rng.pt");
        byte[] bytes = Files.readAllBytes(file);
        Files.write(file, java.util.Arrays.copyOf(bytes, bytes.length - 100));
        assertThat(ManifestCheck.of(manifest, copy).checkFiles(1))
                .extracting(ManifestFinding::code)
                .contains(ManifestFinding.Code.FILE_SIZE);
        Files.delete(file);
        assertThat(ManifestCheck.of(manifest, copy).checkFiles(1))
                .extracting(ManifestFinding::code, ManifestFinding::file)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(
                        ManifestFinding.Code.FILE_MISSING, "iter_0000100/mp_rank_01/model_optim_rng.pt"));
    }

    @Test
    void whatIsNoManifestIsRefused(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("m");
        Files.writeString(file, "this is text");
        assertThatThrownBy(() -> CheckpointManifest.read(file))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("this is no manifest");
        Files.writeString(file, "x\n");
        assertThatThrownBy(() -> CheckpointManifest.read(file)).hasMessageContaining("this is no manifest");
        Files.write(file, new byte[] {8, 9});
        assertThatThrownBy(() -> CheckpointManifest.read(file)).hasMessageContaining("version 9");
        byte[] sound;
        CheckpointManifest manifest = manifest(TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1"));
        manifest.write(WholeFile.replacing(file));
        sound = Files.readAllBytes(file);
        Cases.forAll(300, random -> {
            byte[] damaged = sound.clone();
            damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
            Files.write(
                    file,
                    random.nextBoolean() ? damaged : java.util.Arrays.copyOf(damaged, random.nextInt(damaged.length)));
            try {
                CheckpointManifest.read(file);
            } catch (CheckpointException expected) {
                assertThat(expected.where()).contains("m");
            }
        });
    }
}
