package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    private static CommandRun pair(String left, String right, String... more) {
        List<String> words = new ArrayList<>(List.of("diff", pairFile(left), pairFile(right)));
        words.addAll(List.of(more));
        return CommandRun.of(words.toArray(String[]::new));
    }

    private static String pairFile(String name) {
        return TestData.path("pytorch-pairs", name + ".pt").toString();
    }

    @Test
    void theLargestIntegerIsNotTheFloatAboveIt() {
        CommandRun run = pair("int64", "float64");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.lines()).contains("  integers 1.00 apart, both rounded above to what a double holds");
        JsonNode tensor =
                different(pair("int64", "float64", "--rtol", "1e-300", "--json").json());
        assertThat(tensor.get("maxAbs").asDouble()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    quantized | quantized-other-scale      | zero point 3 against per_tensor_affine, scale 0.2, zero point 3
                    quantized | quantized-other-zero-point | zero point 3 against per_tensor_affine, scale 0.1, zero point 4
                    channels  | channels-other-scale       | per_channel_affine, axis 0, scales F64 [2] sha256
                    """)
    void equalIntegersOfAnotherQuantizationAreDifferent(String left, String right, String note) {
        assertThat(pair(left, left).exit()).isEqualTo(ExitCode.OK);

        CommandRun run = pair(left, right, "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.json().get("counts").get("different").asInt()).isEqualTo(1);
        assertThat(different(run.json()).get("note").asText()).contains(note);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    sparse | sparse-other-shape | s | sparse_coo tensor, F32 [2, 2] | sparse_coo tensor, F32 [3, 3]
                    meta   | meta-other-shape   | m | meta tensor, F32 [2]          | meta tensor, F32 [5]
                    """)
    void shapesOfTensorsWithoutElementsCount(String left, String right, String name, String ours, String theirs) {
        assertThat(pair(left, left).exit()).isEqualTo(ExitCode.OK);
        assertThat(pair(left, right, "--ignore", name).exit()).isEqualTo(ExitCode.OK);

        CommandRun run = pair(left, right);

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.lines()).contains("  " + name + ": " + ours + " / " + theirs);
        JsonNode form = pair(left, right, "--json").json().get("forms").get(0);
        assertThat(form.get("left").asText()).isEqualTo(ours);
        assertThat(form.get("right").asText()).isEqualTo(theirs);
    }

    @Test
    void otherValuesOfAPlainFileAreShownAndDoNotCount() {
        CommandRun values = pair("value", "value-other");
        assertThat(values.exit()).isEqualTo(ExitCode.OK);
        assertThat(values.lines()).contains("other state differs in 1 place (this does not count):", "  s: 3 / 4");
        assertThat(pair("value", "value").lines()).noneMatch(line -> line.startsWith("other state"));

        JsonNode state = pair("array", "array-other", "--json").json().get("state");
        assertThat(state).hasSize(1);
        assertThat(state.get(0).get("path").asText()).isEqualTo("n.@state[4]");
        assertThat(state.get(0).get("right").asText()).startsWith("24 bytes, CRC-32C");
        assertThat(pair("array", "array", "--json").json().get("state")).isEmpty();
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
