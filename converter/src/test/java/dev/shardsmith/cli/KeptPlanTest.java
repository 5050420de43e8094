package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Plans that were kept in a file and are carried out later. */
final class KeptPlanTest {
    private static final String SOURCE =
            TestData.path("megatron-legacy/current_plain_bf16/tp2pp2").toString();
    private static final String OTHER =
            TestData.path("megatron-legacy/older_plain_bf16/tp2pp2").toString();

    @TempDir
    Path folder;

    private String plan;
    private String target;

    @BeforeEach
    void makePlan() {
        plan = folder.resolve("kept.plan").toString();
        target = folder.resolve("target").toString();
        assertThat(CommandRun.of("plan", SOURCE, target, "--tp", "1", "--pp", "1", "-o", plan)
                        .exit())
                .isEqualTo(ExitCode.OK);
    }

    @Test
    void itIsCarriedOutForItsSource() {
        assertThat(CommandRun.of("convert", SOURCE, target, "--plan", plan).exit())
                .isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("diff", SOURCE, target).exit()).isEqualTo(ExitCode.OK);
    }

    @Test
    void anotherSourceIsRefused() {
        CommandRun run = CommandRun.of("convert", OTHER, target, "--plan", plan);
        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("the plan was made for another source");
        assertThat(Path.of(target)).doesNotExist();
    }

    @Test
    void optionsThatThePlanHasSettledAreRefused() {
        CommandRun run = CommandRun.of("convert", SOURCE, target, "--plan", plan, "--tp", "2");
        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("--plan has settled --tp");
        assertThat(Path.of(target)).doesNotExist();
    }
}
