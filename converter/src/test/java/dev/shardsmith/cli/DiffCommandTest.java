package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DiffCommandTest {
    private static final Path PLAIN = TestData.path("megatron-legacy/current_plain_bf16");

    @TempDir
    Path folder;

    @Test
    void oneModelInTwoLayoutsIsTheSame() {
        CommandRun run = CommandRun.of(
                "diff",
                PLAIN.resolve("tp2pp2").toString(),
                PLAIN.resolve("tp1pp1").toString());

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.lines()).last().asString().startsWith("same: 27 tensors");
    }

    @Test
    void opaqueModuleStatesAreLeftOutAndCounted() throws IOException {
        long states = 0;
        for (JsonNode key : TestData.expected(PLAIN)
                .get("checkpoints")
                .get("tp1pp1/iter_0000100/mp_rank_00/model_optim_rng.pt")
                .get("key_order")) {
            states += key.asText().endsWith("_extra_state") ? 1 : 0;
        }
        String source = PLAIN.resolve("tp1pp1").toString();
        String without = folder.resolve("without").toString();
        assertThat(CommandRun.of("convert", source, without, "--to", "megatron", "--extra-state", "drop")
                        .exit())
                .isEqualTo(ExitCode.OK);

        CommandRun run = CommandRun.of("diff", source, without);

        assertThat(states).isEqualTo(9);
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.lines()).contains("left out: 9 and 0 opaque module states (_extra_state)");
        assertThat(CommandRun.of("diff", without, without).lines()).noneMatch(line -> line.startsWith("left out"));
    }

    @Test
    void oneChangedElementIsLocatedInBothCheckpoints() throws IOException {
        Path changed = DamagedCopies.copy(PLAIN.resolve("tp2pp2"), folder.resolve("changed"));
        JsonNode before = CommandRun.of("diff", PLAIN.resolve("tp1pp1").toString(), changed.toString(), "--json")
                .json();
        assertThat(before.get("same").asBoolean()).isTrue();
        Path file = DamagedCopies.rankFile(changed, "mp_rank_01_001");
        DamagedCopies.flipBit(file, DamagedCopies.dataOffset(file, 4096));

        CommandRun run = CommandRun.of("diff", PLAIN.resolve("tp1pp1").toString(), changed.toString(), "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        JsonNode json = run.json();
        assertThat(json.get("status").asText()).isEqualTo("no");
        assertThat(json.get("same").asBoolean()).isFalse();
        assertThat(json.get("counts").get("different").asInt()).isEqualTo(1);
        assertThat(json.get("counts").get("same").asInt()).isEqualTo(26);
        JsonNode tensor = different(json);
        assertThat(tensor.get("different").asInt()).isEqualTo(1);
        JsonNode worst = tensor.get("worst").get(0);
        assertThat(worst.get("rightPlace").get("file").asText()).isEqualTo(file.toString());
        assertThat(worst.get("leftPlace").get("file").asText()).contains("tp1pp1");
    }

    @Test
    void tolerancesAcceptWhatTheyAllow() throws IOException {
        Path changed = DamagedCopies.copy(PLAIN.resolve("tp1pp1"), folder.resolve("changed"));
        Path file = DamagedCopies.rankFile(changed, "mp_rank_00");
        DamagedCopies.flipBit(file, DamagedCopies.dataOffset(file, 4096));
        String left = PLAIN.resolve("tp1pp1").toString();

        assertThat(CommandRun.of("diff", left, changed.toString()).exit()).isEqualTo(ExitCode.NO);
        assertThat(CommandRun.of("diff", left, changed.toString(), "--ulp", "1").exit())
                .isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("diff", left, changed.toString(), "--atol", "10")
                        .exit())
                .isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("diff", left, changed.toString(), "--atol", "-1")
                        .exit())
                .isEqualTo(ExitCode.USAGE);
    }

    @Test
    void renamedTensorsAreRecognizedByTheirContent() {
        CommandRun run = CommandRun.of(
                "diff",
                PLAIN.resolve("tp2pp2").toString(),
                TestData.path("megatron-legacy/older_plain_bf16/tp1pp1").toString(),
                "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.json().get("counts").get("renamed").asInt()).isPositive();
        assertThat(run.json().get("counts").get("different").asInt()).isZero();
        assertThat(run.json().get("counts").get("missing").asInt()).isZero();
    }

    private static JsonNode different(JsonNode document) {
        for (JsonNode tensor : document.get("tensors")) {
            if (tensor.get("status").asText().equals("different")) {
                return tensor;
            }
        }
        throw new AssertionError("nothing differs: " + document);
    }
}
