package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MambaConversionTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"mamba2_as_mamba_ssm,mamba2", "mamba2_tied_as_mamba_ssm,mamba2_tied"})
    void isTheSameModelAsItsHuggingFaceForm(String reference, String huggingFace) throws Exception {
        assertThat(digests(TestData.path("hf", reference)))
                .isEqualTo(digests(TestData.path("hf", huggingFace, "safetensors")));
    }

    @Test
    void goesToTwoRanksAndBack() throws Exception {
        Path source = TestData.path("hf", "mamba2_as_mamba_ssm");
        Path ranks = folder.resolve("ranks");
        Path back = folder.resolve("back");
        convert(source, ranks, Layout.MAMBA_SSM, 2);
        assertThat(ranks.resolve("rank_0.pt")).exists();
        assertThat(ranks.resolve("rank_1.pt")).exists();
        assertThat(digests(ranks)).isEqualTo(digests(source));
        convert(ranks, back, Layout.MAMBA_SSM, 1);
        assertThat(digests(back)).isEqualTo(digests(source));
        assertThat(back.resolve("pytorch_model.bin")).exists();
        assertThat(Files.readString(back.resolve("config.json"))).contains("\"ngroups\": 2");
    }

    @ParameterizedTest
    @CsvSource({
        "consolidated.0%d.pth",
        "tp%d.pt",
        "weights-%d.bin",
        "mp_rank_0%d_model_states.pt",
        "mamba2-130m_%d.ckpt",
        "slice%d.safetensors"
    })
    void findsRankFilesOfOddNames(String names) throws Exception {
        Path source = TestData.path("hf", "mamba2_as_mamba_ssm");
        Path ranks = folder.resolve("ranks");
        convert(source, ranks, Layout.MAMBA_SSM, 2);
        for (int rank = 0; rank < 2; rank++) {
            Files.move(ranks.resolve("rank_" + rank + ".pt"), ranks.resolve(names.formatted(rank)));
        }
        assertThat(digests(ranks)).isEqualTo(digests(source));
        // The same without a config: the tensors alone tell that these are ranks.
        Files.delete(ranks.resolve("config.json"));
        try (ModelView view = Checkpoints.open(ranks, OpenOptions.defaults())) {
            assertThat(view.layout()).isEqualTo(Layout.MAMBA_SSM);
            assertThat(view.parallelism().tensor()).isEqualTo(2);
            assertThat(view.description()).contains(names.replaceFirst("0?%d", "{rank}"));
        }
    }

    @Test
    void partsOfAWholeModelAreNoRanks() throws Exception {
        Path source = TestData.path("hf", "mamba2", "bin");
        Path parts = Files.createDirectory(folder.resolve("parts"));
        for (int part = 1; part <= 8; part++) {
            Files.copy(
                    source.resolve("pytorch_model-0000%d-of-00008.bin".formatted(part)),
                    parts.resolve("part_%d.pt".formatted(part - 1)));
        }
        Files.copy(TestData.path("hf", "mamba2_as_mamba_ssm", "config.json"), parts.resolve("config.json"));
        assertThat(digests(parts)).isEqualTo(digests(TestData.path("hf", "mamba2_as_mamba_ssm")));
    }

    @ParameterizedTest
    @CsvSource({"safetensors", "safetensors_single"})
    void readsSafetensorsBesideAConfigOfTheReference(String form) throws Exception {
        Path copy = Files.createDirectory(folder.resolve("copy"));
        try (var files = Files.list(TestData.path("hf", "mamba2", form))) {
            for (Path file : files.toList()) {
                Files.copy(file, copy.resolve(file.getFileName()));
            }
        }
        Files.copy(
                TestData.path("hf", "mamba2_as_mamba_ssm", "config.json"),
                copy.resolve("config.json"),
                StandardCopyOption.REPLACE_EXISTING);
        assertThat(digests(copy)).isEqualTo(digests(TestData.path("hf", "mamba2_as_mamba_ssm")));
        Path ranks = folder.resolve("ranks");
        convert(copy, ranks, Layout.MAMBA_SSM, 2);
        assertThat(digests(ranks)).isEqualTo(digests(copy));
    }

    @Test
    void goesToHuggingFaceAndBack() throws Exception {
        Path source = TestData.path("hf", "mamba2_tied_as_mamba_ssm");
        Path huggingFace = folder.resolve("hf");
        Path back = folder.resolve("back");
        convert(source, huggingFace, Layout.HUGGINGFACE, 1);
        assertThat(digests(huggingFace)).isEqualTo(digests(source));
        convert(huggingFace, back, Layout.MAMBA_SSM, 1);
        assertThat(digests(back)).isEqualTo(digests(source));
        // Both names are there again, on one storage.
        try (FilePool pool = new FilePool()) {
            List<NamedTensor> tensors =
                    TorchFile.open(pool, back.resolve("pytorch_model.bin")).tensors();
            assertThat(tensors).extracting(NamedTensor::name).contains("backbone.embedding.weight", "lm_head.weight");
            assertThat(TorchFile.open(pool, back.resolve("pytorch_model.bin")).storages())
                    .hasSize(tensors.size() - 1);
        }
    }

    @Test
    void mamba1GoesToHuggingFaceAndBack() throws Exception {
        Path source = TestData.path("hf", "mamba", "bin");
        Path ranks = folder.resolve("ranks");
        Path back = folder.resolve("back");
        convert(source, ranks, Layout.MAMBA_SSM, 2);
        convert(ranks, back, Layout.HUGGINGFACE, 1);
        assertThat(digests(back)).isEqualTo(digests(source));
    }

    @Test
    void refusesMoreRanksThanGroups() {
        assertThatThrownBy(() ->
                        convert(TestData.path("hf", "mamba2_as_mamba_ssm"), folder.resolve("out"), Layout.MAMBA_SSM, 4))
                .hasMessageContaining("2 groups of heads")
                .hasMessageContaining("sizes that divide it: 1, 2");
        assertThat(folder.resolve("out")).doesNotExist();
    }

    @ParameterizedTest
    @CsvSource({"SAFETENSORS", "PT"})
    void anyModelGoesIntoOneFile(Layout layout) throws Exception {
        Path source = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        Path file = folder.resolve("model.any");
        convert(source, file, layout, 1);
        assertThat(file).isRegularFile();
        assertThat(digests(file)).isEqualTo(digests(source));
    }

    private static void convert(Path from, Path to, Layout layout, int world) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(layout);
        options.tensor = OptionalInt.of(world);
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            Plan plan = Conversion.plan(source, options.build());
            assertThat(plan.ledger().balanced()).isTrue();
            PlanExecutor.execute(plan, to, ExecutionOptions.defaults());
        }
    }

    private static Map<String, String> digests(Path path) throws IOException {
        Map<String, String> digests = new TreeMap<>();
        try (ModelView view = Checkpoints.open(path, OpenOptions.defaults())) {
            for (LogicalTensor tensor : view.tensors().values()) {
                digests.put(tensor.name(), tensor.dtype() + " " + tensor.shape() + " " + Tensors.sha256(tensor));
            }
        }
        return digests;
    }
}
