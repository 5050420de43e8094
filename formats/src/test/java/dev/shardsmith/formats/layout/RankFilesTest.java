package dev.shardsmith.formats.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.layout.CheckpointLocation.HuggingFace;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.Naming;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RankFilesTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rank0.pt rank1.pt | rank{rank}.pt",
                "rank_0.pt rank_1.pt | rank_{rank}.pt",
                "rank-00.bin rank-01.bin | rank-{rank}.bin",
                "mp_rank_00.pt mp_rank_01.pt mp_rank_02.pt | mp_rank_{rank}.pt",
                "mp_rank_00_model_states.pt mp_rank_01_model_states.pt | mp_rank_{rank}_model_states.pt",
                "mamba2-130m.tp0-of-2.pt mamba2-130m.tp1-of-2.pt | mamba2-130m.tp{rank}-of-{world}.pt",
                "m.tp1-of-2.pt m.tp2-of-2.pt | m.tp{rank}-of-{world}.pt",
                "model_tp_0.safetensors model_tp_1.safetensors | model_tp_{rank}.safetensors",
                "tp_rank_00_pp_rank_00.pt tp_rank_01_pp_rank_00.pt | tp_rank_{rank}_pp_rank_00.pt",
                "step100_tp=0.ckpt step100_tp=1.ckpt full.pt | step100_tp={rank}.ckpt"
            })
    void findsNamesThatSayTheRank(String names, String pattern) throws IOException {
        make(names.split(" "));
        MambaSsm found = (MambaSsm) CheckpointFolder.locate(folder);
        assertThat(found.pattern()).isEqualTo(pattern);
        assertThat(found.naming()).isEqualTo(Naming.RANKS);
        assertThat(found.explanation()).contains(pattern);
        List<String> expected = List.of(names.split(" ")).stream()
                .filter(name -> !name.equals("full.pt"))
                .toList();
        assertThat(found.ranks())
                .extracting(files -> files.get(0).getFileName().toString())
                .isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rank_0.pt rank_2.pt | the file of rank 1 is missing; there are: rank_0.pt, rank_2.pt",
                "rank_1.pt rank_2.pt | the file of rank 0 is missing",
                "m.tp0-of-4.pt m.tp1-of-4.pt m.tp3-of-4.pt | the file of rank 2 is missing",
                "m.tp0-of-2.pt m.tp1-of-2.pt m.tp2-of-2.pt | rank 2 (m.tp2-of-2.pt) does not exist among 2 ranks",
                "m.tp0-of-2.pt m.tp1-of-4.pt | files of 2 and of 4 ranks lie in one folder",
                "rank_0.pt rank_00.pt | the files rank_0.pt and rank_00.pt are of the same rank",
                "rank_0.pt rank_1.pt mp_rank_00.pt mp_rank_01.pt | in several ways: mp_rank_{rank}.pt, rank_{rank}.pt",
                "model_rank0.pt optimizer_rank0.pt | in several ways: model_rank{rank}.pt, optimizer_rank{rank}.pt"
            })
    void saysWhatKeepsThemFromBeingOneOfEachRank(String names, String problem) throws IOException {
        make(names.split(" "));
        assertThatThrownBy(() -> CheckpointFolder.locate(folder))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(problem);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "model_rank{rank}.pt | model_rank0.pt model_rank1.pt optimizer_rank0.pt optimizer_rank1.pt | 2",
                "part_{rank}_of_{world}.x | part_0_of_3.x part_1_of_3.x part_2_of_3.x | 3",
                "*.{rank}.pth | consolidated.00.pth consolidated.01.pth | 2",
                "mp_rank_{rank}/model.pt | mp_rank_00/model.pt mp_rank_01/model.pt mp_rank_01/other.pt | 2",
                "m?_{rank} | mx_0 my_1 | 2"
            })
    void takesTheFilesOfAUsersPattern(String pattern, String names, int ranks) throws IOException {
        make(names.split(" "));
        MambaSsm found = (MambaSsm) asked(pattern);
        assertThat(found.ranks()).hasSize(ranks);
        assertThat(found.pattern()).isEqualTo(pattern);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rank.pt | has {rank} exactly once",
                "{rank}_{rank}.pt | has {rank} exactly once",
                "../{rank}.pt | names files inside the checkpoint",
                "/tmp/{rank}.pt | names files inside the checkpoint",
                "other{rank}.pt | no file is named like other{rank}.pt; there are: a0.pt, a2.pt",
                "a{rank}.pt | the file of rank 1 is missing; there are: a0.pt, a2.pt"
            })
    void saysWhatIsWrongWithAPattern(String pattern, String problem) throws IOException {
        make("a0.pt", "a2.pt");
        assertThatThrownBy(() -> asked(pattern))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(problem);
    }

    @Test
    void numbersAloneAreForTheContentToTell() throws IOException {
        make("consolidated.00.pth", "consolidated.01.pth");
        assertThat(((MambaSsm) CheckpointFolder.locate(folder)).naming()).isEqualTo(Naming.NUMBERS);
        make("consolidated.03.pth");
        assertThatThrownBy(() -> CheckpointFolder.locate(folder)).hasMessageContaining("no checkpoint that is known");
    }

    @Test
    void aFolderOfAnotherLayoutWithoutSuchFilesStaysWhatItIs() throws IOException {
        make("model.safetensors");
        assertThat(asked("rank{rank}.pt")).isInstanceOf(HuggingFace.class);
    }

    @Test
    void partsOfAHuggingFaceFolderStayOne() throws IOException {
        make("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
        HuggingFace found = (HuggingFace) CheckpointFolder.locate(folder);
        assertThat(found.weights()).hasSize(2);
        MambaSsm ranks = (MambaSsm) CheckpointFolder.asRanks(found).orElseThrow();
        assertThat(ranks.naming()).isEqualTo(Naming.NUMBERS);
    }

    private CheckpointLocation asked(String pattern) throws IOException {
        return CheckpointFolder.locate(folder, OptionalLong.empty(), Optional.of(pattern));
    }

    private void make(String... names) throws IOException {
        for (String name : names) {
            Path file = folder.resolve(name);
            Files.createDirectories(file.getParent());
            Files.write(file, new byte[] {1});
        }
    }
}
