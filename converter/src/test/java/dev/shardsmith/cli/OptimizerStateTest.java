package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of an optimizer's state: it is never left out without a word. */
class OptimizerStateTest {
    private static final String SOURCE = TestData.path("megatron-torch-dist", "optim_fp32main_tp2", "iter_0000012")
            .toString();

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"megatron", "torch_dist", "safetensors", "pt"})
    void itIsNamedWithItsSizeWhereItIsLeftOut(String layout) {
        Path target = folder.resolve(layout);

        CommandRun run = CommandRun.of("convert", SOURCE, target.toString(), "--to", layout);

        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        assertThat(run.out())
                .containsPattern("dropped +the optimizer's state \\([0-9]+ tensors\\) \\([1-9][0-9.]* [KM]?i?B\\)");
    }

    @Test
    void itIsKeptElementByElementWhereItHasTheShapeOfTheParameters() {
        Path target = folder.resolve("out");

        CommandRun run =
                CommandRun.of("convert", SOURCE, target.toString(), "--tp", "1", "--optimizer", "keep", "--json");

        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        // 1,532 elements of the model and three states of each.
        assertThat(run.json().at("/ledger/sourceElements").asLong()).isEqualTo(4 * 1532);
        assertThat(run.json().at("/ledger/usedElements").asLong()).isEqualTo(4 * 1532);
        assertThat(run.json().at("/plan/dropped")).isEmpty();
        assertThat(CommandRun.of("diff", SOURCE, target.toString()).exit()).isEqualTo(ExitCode.OK);
    }

    @ParameterizedTest
    @CsvSource({
        "megatron-torch-dist/optim_distopt_dp2_dp_reshardable/iter_0000012,torch_dist,dp_reshardable",
        "megatron-torch-dist/optim_fp32main_tp2/iter_0000012,megatron,megatron has no place for it",
        "megatron-torch-dist/optim_fp32main_tp2/iter_0000012,safetensors,safetensors has no place for it",
        "megatron-legacy/with_optimizer_fp32main_tp2,torch_dist,numbered parameters"
    })
    void keepingItIsRefusedWhereThatCannotBe(String source, String layout, String reason) {
        Path target = folder.resolve("out");
        String from = TestData.path(source.split("/")).toString();

        CommandRun run = CommandRun.of("convert", from, target.toString(), "--to", layout, "--optimizer", "keep");

        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("the optimizer's state", "cannot be kept", reason, "--optimizer drop");
        assertThat(target).doesNotExist();
    }

    @Test
    void keepingIsNoErrorWhereThereIsNone() {
        String plain =
                TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1").toString();

        CommandRun run = CommandRun.of("convert", plain, folder.resolve("out").toString(), "--optimizer", "keep");

        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).doesNotContain("optimizer");
    }
}
