package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Conversions of a checkpoint in which one bit of a tensor has flipped. */
final class DamagedSourceTest {
    private static final Path SOUND = TestData.path("megatron-legacy/current_plain_bf16/tp2pp2");

    @TempDir
    Path folder;

    private Path damaged;

    @BeforeEach
    void flipABit() throws IOException {
        damaged = DamagedCopies.copy(SOUND, folder.resolve("damaged"));
        Path file = DamagedCopies.rankFile(damaged, "mp_rank_01_001");
        DamagedCopies.flipBit(file, DamagedCopies.dataOffset(file, 1 << 20) + 5);
    }

    @Test
    void theConversionEndsWithTheNameOfTheRecordAndWritesNothing() {
        Path target = folder.resolve("out");
        CommandRun run = CommandRun.of("convert", damaged.toString(), target.toString(), "--tp", "1", "--pp", "1");
        assertThat(run.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(run.err())
                .contains("mp_rank_01_001/model_optim_rng.pt!")
                .contains("/data/")
                .contains("the data are damaged")
                .contains("--damaged copy");
        assertThat(target).doesNotExist();
    }

    @Test
    void theDataAreTakenAsTheyAreWhenAskedToAndTheReportSaysSo() {
        String target = folder.resolve("out").toString();
        CommandRun run = CommandRun.of(
                "convert", damaged.toString(), target, "--tp", "1", "--pp", "1", "--damaged", "copy", "--json");
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.json().get("warnings").toString())
                .contains("mp_rank_01_001")
                .contains("taken as they are");
        assertThat(CommandRun.of("diff", damaged.toString(), target).exit()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("diff", SOUND.toString(), target).exit()).isEqualTo(ExitCode.NO);
    }
}
