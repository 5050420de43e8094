package dev.shardsmith.formats.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.layout.CheckpointLocation.HuggingFace;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.MegatronLegacy;
import dev.shardsmith.formats.layout.CheckpointLocation.PlainDcp;
import dev.shardsmith.formats.layout.CheckpointLocation.RankFolder;
import dev.shardsmith.formats.layout.CheckpointLocation.SingleFile;
import dev.shardsmith.formats.layout.CheckpointLocation.TorchDist;
import dev.shardsmith.formats.layout.CheckpointLocation.WeightFormat;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointFolderTest {
    private static final String TRACKER = "latest_checkpointed_iteration.txt";

    @TempDir
    Path folder;

    @Test
    void recognisesTheGoldenFolders() throws IOException {
        for (Path group : TestData.cases("mamba-ssm-tp")) {
            assertThat(CheckpointFolder.locate(group)).isInstanceOf(MambaSsm.class);
        }
        MambaSsm four = (MambaSsm) CheckpointFolder.locate(TestData.path("mamba-ssm-tp", "column_even_ws4"));
        assertThat(four.ranks())
                .extracting(files -> files.get(0).getFileName().toString())
                .containsExactly("rank0.pt", "rank1.pt", "rank2.pt", "rank3.pt");
        assertThat(four.pattern()).isEqualTo("rank{rank}.pt");
        MambaSsm whole = (MambaSsm) CheckpointFolder.locate(TestData.path("hf", "mamba2_as_mamba_ssm"));
        assertThat(whole.ranks()).containsExactly(List.of(whole.path().resolve("pytorch_model.bin")));

        HuggingFace safetensors = (HuggingFace) CheckpointFolder.locate(TestData.path("hf", "bamba", "safetensors"));
        assertThat(safetensors.weights()).hasSize(6);
        assertThat(safetensors.index()).isPresent();
        HuggingFace bin = (HuggingFace) CheckpointFolder.locate(TestData.path("hf", "bamba", "bin"));
        assertThat(bin.format()).isEqualTo(WeightFormat.BIN);
        assertThat(bin.weights()).hasSize(6);
        HuggingFace single = (HuggingFace) CheckpointFolder.locate(TestData.path("hf", "mamba2", "safetensors_single"));
        assertThat(single.weights()).hasSize(1);

        assertThat(CheckpointFolder.locate(TestData.path("dcp", "ws4_uneven", "ckpt")))
                .isInstanceOf(PlainDcp.class);
        assertThat(CheckpointFolder.locate(TestData.path("dcp", "ws2_hf_sharded", "ckpt")))
                .isInstanceOf(PlainDcp.class);
        assertThat(CheckpointFolder.locate(TestData.path("dcp", "ws2_hf_consolidated", "ckpt")))
                .isInstanceOf(HuggingFace.class);
    }

    @Test
    void findsTorchDistThroughTrackerFolderOrFile() throws IOException {
        Path root = TestData.path("megatron-torch-dist", "plain_bf16_tp2pp1");
        Path iteration = root.resolve("iter_0000100");
        for (Path path : new Path[] {root, iteration, iteration.resolve(".metadata"), root.resolve(TRACKER)}) {
            TorchDist found = (TorchDist) CheckpointFolder.locate(path);
            assertThat(found.path().toRealPath()).isEqualTo(iteration.toRealPath());
            assertThat(found.iteration().number()).hasValue(100);
            assertThat(found.iteration().root()).isPresent();
            assertThat(found.metadata().version()).hasValue(1);
            assertThat(found.common()).isEmpty();
        }
        Path withCommon = TestData.path("megatron-torch-dist", "gpt_hybrid_tool", "gpt_in");
        assertThat(((TorchDist) CheckpointFolder.locate(withCommon)).common()).isPresent();
    }

    @Test
    void findsLegacyRanksInOrder() throws IOException {
        MegatronLegacy found = (MegatronLegacy)
                CheckpointFolder.locate(TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2"));
        assertThat(found.ranks())
                .extracting(RankFolder::name)
                .containsExactly("mp_rank_00_000", "mp_rank_00_001", "mp_rank_01_000", "mp_rank_01_001");
        assertThat(found.ranks().get(1).second()).isEqualTo(OptionalInt.of(1));
        assertThat(found.iteration().number()).hasValue(100);
        MegatronLegacy optimizer = (MegatronLegacy)
                CheckpointFolder.locate(TestData.path("megatron-legacy", "with_optimizer_fp32main_tp2"));
        assertThat(optimizer.ranks()).extracting(RankFolder::name).containsExactly("mp_rank_00", "mp_rank_01");
    }

    @ParameterizedTest
    @ValueSource(strings = {"100", " 100\n", "0000100", "100\r\n", "\t100"})
    void readsTrackerInEveryForm(String text) throws IOException {
        legacy(folder.resolve("iter_0000100"), "mp_rank_00");
        Files.writeString(folder.resolve(TRACKER), text);
        assertThat(((MegatronLegacy) CheckpointFolder.locate(folder))
                        .iteration()
                        .number())
                .hasValue(100);
    }

    @Test
    void takesRelease() throws IOException {
        legacy(folder.resolve("release"), "mp_rank_00");
        Files.writeString(folder.resolve(TRACKER), "release\n");
        MegatronLegacy found = (MegatronLegacy) CheckpointFolder.locate(folder);
        assertThat(found.iteration().release()).isTrue();
        assertThat(found.iteration().number()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''|is empty; there are: iter_0000100",
                "' \r\n'|is empty; there are: iter_0000100",
                "abc|holds 'abc', which is neither a number nor 'release'",
                "-5|holds '-5', which is neither",
                "1e3|holds '1e3', which is neither",
                "99999999999999999999|which is neither a number",
                "Release|holds 'Release', which is neither",
                "200|says 200, but there is no folder iter_0000200; there are: iter_0000100",
                "release|says release, but there is no folder release"
            })
    void saysWhatIsWrongWithTheTracker(String text, String message) throws IOException {
        legacy(folder.resolve("iter_0000100"), "mp_rank_00");
        Files.writeString(folder.resolve(TRACKER), text);
        assertThatThrownBy(() -> CheckpointFolder.locate(folder))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message)
                .hasMessageContaining("--iteration N");
    }

    @Test
    void saysThatTheTrackerIsMissing() throws IOException {
        legacy(folder.resolve("iter_0000100"), "mp_rank_00");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder))
                .hasMessageContaining(
                        "the tracker latest_checkpointed_iteration.txt is missing; there are: iter_0000100");
    }

    @Test
    void takesTheIterationThatIsAskedForWhateverTheTrackerSays() throws IOException {
        legacy(folder.resolve("iter_0000100"), "mp_rank_00");
        legacy(folder.resolve("iter_12345678"), "mp_rank_00");
        Files.writeString(folder.resolve(TRACKER), "abc");
        assertThat(((MegatronLegacy) CheckpointFolder.locate(folder, OptionalLong.of(12345678), Optional.empty()))
                        .iteration()
                        .number())
                .hasValue(12345678);
        Files.delete(folder.resolve(TRACKER));
        assertThat(CheckpointFolder.locate(folder, OptionalLong.of(100), Optional.empty())
                        .path())
                .isEqualTo(folder.resolve("iter_0000100"));
        assertThatThrownBy(() -> CheckpointFolder.locate(folder, OptionalLong.of(7), Optional.empty()))
                .hasMessageContaining("there is no folder iter_0000007; there are: iter_0000100, iter_12345678");
        assertThatThrownBy(() ->
                        CheckpointFolder.locate(folder.resolve("iter_0000100"), OptionalLong.of(7), Optional.empty()))
                .hasMessageContaining("this folder has no iterations");
    }

    @Test
    void namesMissingRanks() throws IOException {
        legacy(folder, "mp_rank_00_000", "mp_rank_01_002", "mp_rank_01_000");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder))
                .hasMessageContaining("folders of ranks are missing: mp_rank_00_001, mp_rank_00_002, mp_rank_01_001");
    }

    @Test
    void survivesHugeRankNumbers() throws IOException {
        legacy(folder, "mp_rank_999999999_999999999_999999999", "mp_rank_00_000_000");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder)).hasMessageContaining("mp_rank_00_000_001");
    }

    @Test
    void refusesRanksOfDifferentForms() throws IOException {
        legacy(folder, "mp_rank_00", "mp_rank_00_001");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder)).hasMessageContaining("different forms");
    }

    @Test
    void refusesRankTwice() throws IOException {
        legacy(folder, "mp_rank_00", "mp_rank_000");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder)).hasMessageContaining("are of the same rank");
    }

    @Test
    void refusesRankWithoutModel() throws IOException {
        legacy(folder, "mp_rank_00");
        Files.createDirectory(folder.resolve("mp_rank_01"));
        assertThatThrownBy(() -> CheckpointFolder.locate(folder))
                .hasMessageContaining("has no model_optim_rng.pt")
                .hasMessageContaining("mp_rank_01");
    }

    @Test
    void leavesStrayFilesAloneAndListsKnownOnes() throws IOException {
        legacy(folder, "mp_rank_00");
        Files.createDirectory(folder.resolve("tokenizer"));
        Files.createDirectory(folder.resolve("mp_rank_0"));
        Files.writeString(folder.resolve("mp_rank_01.pth"), "");
        Files.writeString(folder.resolve(".DS_Store"), "");
        Files.writeString(folder.resolve("mp_rank_00/distrib_optim.pt"), "");
        Files.writeString(folder.resolve("mp_rank_00/model_optim_rng.pt~"), "");
        MegatronLegacy found = (MegatronLegacy) CheckpointFolder.locate(folder);
        assertThat(found.ranks()).hasSize(1);
        assertThat(found.ranks().get(0).others()).containsExactly(folder.resolve("mp_rank_00/distrib_optim.pt"));
    }

    @Test
    void takesTheOldNameOfTheModelFile() throws IOException {
        Files.createDirectories(folder.resolve("mp_rank_00"));
        Files.writeString(folder.resolve("mp_rank_00/model_rng.pt"), "");
        assertThat(((MegatronLegacy) CheckpointFolder.locate(folder))
                        .ranks()
                        .get(0)
                        .model()
                        .getFileName())
                .hasToString("model_rng.pt");
    }

    @Test
    void saysThatASaveDidNotFinish() throws IOException {
        Files.writeString(folder.resolve("__0_0.distcp"), "x");
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> CheckpointFolder.locate(folder));
        assertThat(e.kind()).isEqualTo(CheckpointException.Kind.INCOMPLETE);
        assertThat(e).hasMessageContaining("no .metadata");
    }

    @Test
    void isPlainDcpWithoutUsableMetadataJson() throws IOException {
        Files.writeString(folder.resolve(".metadata"), "x");
        assertThat(((PlainDcp) CheckpointFolder.locate(folder)).damaged()).isFalse();
        Files.writeString(folder.resolve("metadata.json"), "{broken");
        assertThat(((PlainDcp) CheckpointFolder.locate(folder)).damaged()).isTrue();
    }

    @Test
    void refusesZarr() throws IOException {
        Files.writeString(folder.resolve("metadata.json"), "{\"sharded_backend\": \"zarr\", \"x\": [1]}");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder))
                .hasMessageContaining("the checkpoint's form is zarr")
                .satisfies(e -> assertThat(((CheckpointException) e).hint().orElseThrow())
                        .contains("core up to 0.15 does, with --ckpt-format torch_dist"));
    }

    @Test
    void namesMissingRankFilesAndShards() throws IOException {
        Files.writeString(folder.resolve("m.tp0-of-3.pt"), "");
        Files.writeString(folder.resolve("m.tp2-of-3.pt"), "");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder)).hasMessageContaining("rank 1 is missing");
        Files.writeString(folder.resolve("m.tp1-of-3.pt"), "");
        assertThat(((MambaSsm) CheckpointFolder.locate(folder)).ranks()).hasSize(3);
    }

    @Test
    void namesMissingShardsWhereThereIsNoIndex() throws IOException {
        Files.writeString(folder.resolve("model-00001-of-00003.safetensors"), "");
        Files.writeString(folder.resolve("model-00003-of-00003.safetensors"), "");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder))
                .hasMessageContaining("files are missing: model-00002-of-00003.safetensors");
    }

    @Test
    void prefersSafetensorsAndTellsOfTheOther() throws IOException {
        Files.writeString(folder.resolve("model.safetensors"), "");
        Files.writeString(folder.resolve("pytorch_model.bin"), "");
        Files.writeString(folder.resolve("config.json"), "{\"model_type\": \"mamba\", \"d_model\": 1}");
        HuggingFace found = (HuggingFace) CheckpointFolder.locate(folder);
        assertThat(found.weights()).containsExactly(folder.resolve("model.safetensors"));
        assertThat(found.alternative()).containsExactly(folder.resolve("pytorch_model.bin"));
    }

    @Test
    void followsNoLinkOutOfTheCheckpointButThoseOfTheHubCache() throws IOException {
        Path outside = Files.writeString(folder.resolve("secret.safetensors"), "");
        Path model = Files.createDirectory(folder.resolve("model"));
        Files.createSymbolicLink(model.resolve("model.safetensors"), outside);
        assertThatThrownBy(() -> CheckpointFolder.locate(model)).hasMessageContaining("leads out of the checkpoint");

        Path blobs = Files.createDirectories(folder.resolve("hub/blobs"));
        Path snapshot = Files.createDirectories(folder.resolve("hub/snapshots/0123"));
        Files.writeString(blobs.resolve("abcd"), "");
        Files.createSymbolicLink(snapshot.resolve("model.safetensors"), Path.of("../../blobs/abcd"));
        assertThat(CheckpointFolder.locate(snapshot)).isInstanceOf(HuggingFace.class);
    }

    @Test
    void saysWhatIsThereWhenNothingIsKnown() throws IOException {
        assertThatThrownBy(() -> CheckpointFolder.locate(folder)).hasMessageContaining("the folder is empty");
        Files.writeString(folder.resolve("notes.txt"), "");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder)).hasMessageContaining("it has: notes.txt");
        assertThat(CheckpointFolder.locate(folder.resolve("notes.txt"))).isInstanceOf(SingleFile.class);
        assertThatThrownBy(() -> CheckpointFolder.locate(folder.resolve("nowhere")))
                .hasMessageContaining("there is no such file or folder");
    }

    private static void legacy(Path iteration, String... ranks) throws IOException {
        for (String rank : ranks) {
            Files.createDirectories(iteration.resolve(rank));
            Files.writeString(iteration.resolve(rank).resolve("model_optim_rng.pt"), "x");
        }
    }
}
