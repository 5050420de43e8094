package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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

    @Test
    void diffComparesTheStatesOfBothSidesTensorByTensor() {
        Path same = folder.resolve("same");
        Path other = folder.resolve("other");
        CommandRun.of("convert", SOURCE, same.toString(), "--tp", "1", "--pp", "3", "--optimizer", "keep");
        CommandRun.of("convert", SOURCE, other.toString(), "--tp", "1");

        CommandRun both = CommandRun.of("diff", SOURCE, same.toString(), "--json");
        CommandRun one = CommandRun.of("diff", SOURCE, other.toString());
        CommandRun moments = CommandRun.of("diff", SOURCE, same.toString(), "--tensors", "optimizer.*", "--json");

        assertThat(both.exit()).as(both.err()).isEqualTo(ExitCode.OK);
        // 18 parameters and three states of each.
        assertThat(both.json().at("/counts/same").asInt()).isEqualTo(4 * 18);
        assertThat(moments.json().at("/counts/same").asInt()).isEqualTo(3 * 18);
        assertThat(moments.err()).doesNotContain("matches");
        assertThat(one.exit()).isEqualTo(ExitCode.OK);
        assertThat(one.out()).contains("tensors of an optimizer's state: B has none");
    }

    @Test
    void diffFindsAMomentThatDiffers() throws IOException {
        Path copy = folder.resolve("copy");
        CommandRun.of("convert", SOURCE, copy.toString(), "--tp", "1", "--optimizer", "keep");
        damage(copy, "optimizer.state.exp_avg.decoder.layers.0.mixer.A_log");

        CommandRun run = CommandRun.of("diff", SOURCE, copy.toString(), "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.json().at("/counts/different").asInt()).isEqualTo(1);
        assertThat(run.json().at("/tensors").findValuesAsText("name"))
                .contains("optimizer.state.exp_avg.decoder.layers.0.mixer.A_log");
    }

    @Test
    void inspectCountsIt() {
        CommandRun run = CommandRun.of("inspect", SOURCE);

        assertThat(run.out()).containsPattern("(?m)^optimizer +78 tensors, 18\\.0 KiB$");
    }

    /** Turns over one bit of a tensor's first byte. */
    private static void damage(Path root, String tensor) throws IOException {
        Path iteration = root.resolve("iter_0000012");
        ByteBuffer begin = ByteBuffer.allocate(16);
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, iteration);
            StoredTensor data =
                    checkpoint.tensor(tensor).orElseThrow().pieces().get(0).open();
            data.source().read(data.offset(), begin);
        }
        Path file = iteration.resolve("__0_0.distcp");
        byte[] bytes = Files.readAllBytes(file);
        int at = 0;
        while (!Arrays.equals(bytes, at, at + 16, begin.array(), 0, 16)) {
            at++;
        }
        bytes[at] ^= 1;
        Files.write(file, bytes);
    }
}
