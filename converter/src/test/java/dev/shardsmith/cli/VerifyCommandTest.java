package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.NpyFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class VerifyCommandTest {
    private static final Path PLAIN = TestData.path("megatron-legacy/current_plain_bf16");
    private static final Path GATED = TestData.path("megatron-legacy/older_swiglu_float16module");

    @TempDir
    Path folder;

    @Test
    void divisionsOfOneModelComputeTheSameAndPredictTheSame() {
        CommandRun run = CommandRun.of(
                "verify",
                PLAIN.resolve("tp2pp2").toString(),
                PLAIN.resolve("tp1pp1").toString(),
                "--device",
                "cpu",
                "--logits",
                "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        JsonNode json = run.json();
        assertThat(json.get("equivalent").asBoolean()).isTrue();
        assertThat(json.get("layers")).hasSize(6);
        assertThat(json.get("logits").get("sameFirst").asInt()).isEqualTo(128);
    }

    @Test
    void layersThatTheModelDoesNotHaveAreAWrongUse() {
        String same = PLAIN.resolve("tp1pp1").toString();
        CommandRun run = CommandRun.of("verify", same, same, "--device", "cpu", "--layers", "9");
        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("layers").contains("4");
        assertThat(CommandRun.of("verify", same, same, "--device", "cpu", "--layers", "3")
                        .exit())
                .isEqualTo(ExitCode.OK);
    }

    @Test
    void aGatedProjectionCutAsOneBlockIsNamedWithItsLayer() throws IOException {
        Path page = folder.resolve("verify.html");
        CommandRun run = CommandRun.of(
                "verify",
                GATED.resolve("tp1pp1").toString(),
                GATED.resolve("tp2pp1").toString(),
                "--device",
                "cpu",
                "--html",
                page.toString());

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.lines())
                .anyMatch(line -> line.endsWith("DIFFERENT: the gated projection was cut over ranks as one block"));
        assertThat(Files.readString(page))
                .contains("compute something else")
                .contains("the gated projection was cut over ranks as one block");
    }

    @Test
    void layersWhoseRowsDoNotDivideAreExplainedWithoutThatGuess() {
        CommandRun run = CommandRun.of(
                "verify",
                TestData.path("hf", "mamba2", "safetensors").toString(),
                TestData.path("hf", "mamba2_as_mamba_ssm").toString(),
                "--device",
                "cpu");

        // With several groups the two libraries normalise over other channels: the same weights, another function.
        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).contains("DIFFERENT").contains("the gated norm takes");
    }

    @Test
    void onlyTheLayersThatWereAskedForRun() {
        CommandRun run = CommandRun.of(
                "verify",
                GATED.resolve("tp1pp1").toString(),
                GATED.resolve("tp2pp1").toString(),
                "--layers",
                "0-1",
                "--device",
                "cpu",
                "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.json().get("layers")).hasSize(4);
    }

    @Test
    void logitsGoToAFileOfTheirShape() throws Exception {
        Path ids = folder.resolve("ids.npy");
        NpyFile.write(ids, new int[] {1, 5}, new float[] {3, 1, 4, 1, 5});
        Path target = folder.resolve("logits.npy");
        CommandRun run = CommandRun.of(
                "forward",
                PLAIN.resolve("tp2pp2").toString(),
                "--input",
                ids.toString(),
                "--device",
                "cpu",
                "-o",
                target.toString());

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(NpyFile.read(target).shape()).containsExactly(1, 5, 32);
    }

    @Test
    void layersWithoutAKnownForwardPassAreNamedAndTheAnswerIsInconclusive() {
        String model = folder.resolve("latent").toString();
        assertThat(CommandRun.of(
                                "sample",
                                model,
                                "--pattern",
                                "M+-/*",
                                "--hidden",
                                "64",
                                "--heads",
                                "8",
                                "--vocab",
                                "64")
                        .exit())
                .isEqualTo(ExitCode.OK);

        CommandRun run = CommandRun.of("verify", model, model, "--device", "cpu", "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(run.json().get("equivalent").asBoolean()).isFalse();
        JsonNode layers = run.json().get("layers");
        JsonNode last = layers.get(layers.size() - 1);
        assertThat(last.get("layer").asInt()).isEqualTo(1);
        assertThat(last.get("run").asBoolean()).isFalse();
        assertThat(last.get("hypothesis").asText()).startsWith("decoder.layers.1.");
        CommandRun others = CommandRun.of("verify", model, model, "--device", "cpu", "--layers", "0,2-9");
        assertThat(others.exit()).isEqualTo(ExitCode.OK);
        assertThat(others.lines()).anyMatch(line -> line.contains("mtp attention"));
        CommandRun whole = CommandRun.of("verify", model, model, "--device", "cpu", "--logits");
        assertThat(whole.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(whole.err()).contains("no forward pass is known for decoder.layers.1.");
    }

    @Test
    void optionsThatDoNotFitTheTensorsAreAFaultOfTheCheckpoint() throws IOException {
        for (String[] wrong : new String[][] {
            {"bamba", "\"num_attention_heads\": ", "8, \"unused\": "},
            {"falcon_h1", "\"mamba_d_state\": ", "9"},
            {"granitemoehybrid", "\"num_local_experts\": ", "9"}
        }) {
            Path model = Files.createDirectory(folder.resolve(wrong[0]));
            Path source = TestData.path("hf", wrong[0], "safetensors");
            try (Stream<Path> files = Files.list(source)) {
                for (Path file : files.toList()) {
                    Files.copy(file, model.resolve(file.getFileName().toString()));
                }
            }
            Path config = model.resolve("config.json");
            Files.writeString(config, Files.readString(config).replace(wrong[1], wrong[1] + wrong[2]));

            CommandRun run = CommandRun.of("verify", model.toString(), model.toString(), "--device", "cpu");

            assertThat(run.exit()).as(wrong[0]).isEqualTo(ExitCode.INPUT);
            assertThat(run.err())
                    .contains("the options deny the weights: ", wrong[1].substring(1, wrong[1].indexOf(":") - 1));
        }
    }

    @Test
    void aTimelineIsDrawnAndTold() throws Exception {
        Path picture = folder.resolve("time.svg");
        CommandRun run = CommandRun.of(
                "verify",
                PLAIN.resolve("tp2pp2").toString(),
                PLAIN.resolve("tp1pp1").toString(),
                "--device",
                "cpu",
                "--timeline",
                picture.toString(),
                "--json");

        JsonNode timeline = run.json().get("timeline");
        assertThat(timeline.get("bytes").asLong()).isPositive();
        assertThat(timeline.get("read").asDouble())
                .isPositive()
                .isLessThanOrEqualTo(timeline.get("seconds").asDouble());
        assertThat(timeline.get("spans").findValuesAsText("side")).contains("A", "B");
        assertThat(Files.readString(picture)).startsWith("<svg").endsWith("</svg>\n");
    }
}
