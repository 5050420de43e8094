package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ValidateCommandTest {
    private static final String PLAIN =
            TestData.path("megatron-legacy/current_plain_bf16/tp2pp2").toString();

    @Test
    void aSoundCheckpointIsValid() {
        CommandRun run = CommandRun.of("validate", PLAIN, "--json");
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        JsonNode json = run.json();
        assertThat(json.get("valid").asBoolean()).isTrue();
        assertThat(json.get("pattern").get("saved").asText()).isEqualTo("M-*M");
        assertThat(json.get("pattern").get("given").isNull()).isTrue();
        assertThat(json.get("pattern").get("inferred").asText()).isEqualTo("M-*M");
        assertThat(json.get("layers")).hasSize(4);
        assertThat(CommandRun.of("validate", PLAIN).lines()).last().isEqualTo("valid");
    }

    @Test
    void aPatternThatTheWeightsContradictIsInvalid() {
        CommandRun run = CommandRun.of("validate", PLAIN, "--pattern", "M-*MM", "--json");
        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        JsonNode finding = run.json().get("findings").get(0);
        assertThat(finding.get("code").asText()).isEqualTo("pattern.length");
        assertThat(finding.get("severity").asText()).isEqualTo("error");
        assertThat(finding.get("message").asText()).isEqualTo("the pattern has 5 layers, the weights have 4");
        assertThat(CommandRun.of("validate", PLAIN, "--pattern", "Mx").exit()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void aPatternOfAnotherLengthIsToldWithTheFirstLayerThatContradictsIt() {
        CommandRun run = CommandRun.of("validate", PLAIN, "--pattern", "M*-M*");
        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.lines())
                .containsSubsequence(
                        "error pattern.length: the pattern has 5 layers, the weights have 4",
                        "error pattern.layer: the given pattern says *, the weights say - (mlp.linear_fc1.weight)");
    }

    @Test
    void aCheckpointWithoutOptimizerCannotBeResumedFrom() {
        assertThat(CommandRun.of("validate", PLAIN, "--optimizer", "--no-values")
                        .exit())
                .isEqualTo(ExitCode.NO);
    }

    @Test
    void aLaunchScriptIsAnsweredOptionByOption(@TempDir Path folder) throws IOException {
        Path script = folder.resolve("train.sh");
        Files.writeString(
                script,
                "python pretrain_mamba.py --load x --use-checkpoint-args --no-load-optim \\\n"
                        + "  --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2\n");
        CommandRun fits = CommandRun.of("validate", PLAIN, "--launch", script.toString(), "--env", "TP=2", "--json");
        assertThat(fits.exit()).as(fits.out()).isEqualTo(ExitCode.OK);
        CommandRun fails = CommandRun.of("validate", PLAIN, "--launch", script.toString(), "--env", "TP=4", "--json");
        assertThat(fails.exit()).isEqualTo(ExitCode.NO);
        JsonNode row = null;
        for (JsonNode candidate : fails.json().get("launch")) {
            row = candidate.get("verdict").asText().equals("fails") ? candidate : row;
        }
        assertThat(row.get("option").asText()).isEqualTo("--tensor-model-parallel-size");
        assertThat(row.get("line").asInt()).isEqualTo(2);
        assertThat(row.get("given").asText()).isEqualTo("4");
        assertThat(row.get("checkpoint").asText()).isEqualTo("2");
        assertThat(CommandRun.of("validate", PLAIN, "--launch", script.toString(), "--env", "TP")
                        .exit())
                .isEqualTo(ExitCode.USAGE);
    }

    @Test
    void theReportIsAPage(@TempDir Path folder) throws IOException {
        Path page = folder.resolve("r.html");
        CommandRun.of("validate", PLAIN, "--html", page.toString());
        assertThat(Files.readString(page)).contains("The checkpoint is valid");
    }
}
