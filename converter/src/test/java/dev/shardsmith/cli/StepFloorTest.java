package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.NpyFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The least time step that transformers gives NemotronH and Zamba2, and Megatron does not. */
final class StepFloorTest {
    @TempDir
    Path folder;

    private double[] logits(String golden, String floor) throws IOException {
        return logits(golden, Map.of("time_step_min", floor));
    }

    private double[] logits(String golden, Map<String, String> options) throws IOException {
        Path model = ConfigurationFolders.copy("hf/" + golden, Files.createTempDirectory(folder, "model"));
        for (Map.Entry<String, String> option : options.entrySet()) {
            ConfigurationFolders.set(model, option.getKey(), option.getValue());
        }
        Path logits = folder.resolve(model.getFileName() + ".npy");
        CommandRun run = CommandRun.of(
                "forward",
                model.toString(),
                "--device",
                "cpu",
                "--input",
                TestData.path("hf", golden, "input_ids.npy").toString(),
                "-o",
                logits.toString());
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        return NpyFile.read(logits).values();
    }

    @ParameterizedTest
    @ValueSource(strings = {"nemotron_h_nomoe", "zamba2"})
    void predictionsAreMadeWithIt(String golden) throws IOException {
        double[] expected =
                NpyFile.read(TestData.path("hf", golden, "logits_f32.npy")).values();

        assertThat(distance(logits(golden, "0.001"), expected)).isLessThan(1e-4);
        assertThat(distance(logits(golden, "0"), expected)).isLessThan(1e-4);
        assertThat(distance(logits(golden, "5"), expected)).isGreaterThan(1e-2);
    }

    /**
     * Logits of transformers 5.17 with {@code time_step_min} 0.7 and {@code time_step_limit} [0.05, 0.3], in that class on the processor
     * ({@code from_pretrained(folder, attn_implementation="eager")}): the limit changes nothing.
     */
    @ParameterizedTest
    @ValueSource(strings = {"nemotron_h_nomoe", "zamba2"})
    void predictionsAreThoseOfTransformersWhateverTheLimit(String golden) throws IOException {
        double[] plain =
                NpyFile.read(TestData.path("hf", golden, "logits_f32.npy")).values();
        double[] floored = NpyFile.read(TestData.path("hf", golden, "logits_steps_f32.npy"))
                .values();
        String limit = "[0.05, 0.3]";

        assertThat(distance(floored, plain)).isGreaterThan(0.1);
        assertThat(distance(logits(golden, Map.of("time_step_min", "0.7", "time_step_limit", limit)), floored))
                .isLessThan(1e-5);
        assertThat(distance(logits(golden, Map.of("time_step_min", "0.7")), floored))
                .isLessThan(1e-5);
        assertThat(distance(logits(golden, Map.of("time_step_limit", limit)), plain))
                .isLessThan(1e-5);
    }

    @Test
    void theOlderNameGoesFirstInNemotron() throws IOException {
        double[] floored = NpyFile.read(TestData.path("hf", "nemotron_h_nomoe", "logits_steps_f32.npy"))
                .values();
        double[] plain =
                NpyFile.read(TestData.path("hf", "zamba2", "logits_f32.npy")).values();
        Map<String, String> both = Map.of("mamba_dt_min", "0.7", "time_step_min", "0.001");

        assertThat(distance(logits("nemotron_h_nomoe", both), floored)).isLessThan(1e-5);
        assertThat(distance(logits("zamba2", both), plain)).isLessThan(1e-5);
    }

    @ParameterizedTest
    @ValueSource(strings = {"nemotron_h_nomoe", "zamba2"})
    void aLimitThatIsNotReadMakesNoDifference(String golden) throws IOException {
        Path limited = ConfigurationFolders.copy("hf/" + golden, folder.resolve("limited"));
        ConfigurationFolders.set(limited, "time_step_limit", "[0.05, 0.3]");
        String source = ConfigurationFolders.golden("hf/" + golden).toString();

        CommandRun run = CommandRun.of("verify", source, limited.toString(), "--device", "cpu");

        assertThat(run.exit()).as(run.out()).isEqualTo(ExitCode.OK);
    }

    @Test
    void aLimitThatIsReadMakesOne() throws IOException {
        Path limited = ConfigurationFolders.copy("hf/mamba2", folder.resolve("limited"));
        ConfigurationFolders.set(limited, "time_step_limit", "[0.05, 0.3]");
        String source = ConfigurationFolders.golden("hf/mamba2").toString();

        CommandRun run = CommandRun.of("verify", source, limited.toString(), "--device", "cpu");

        assertThat(run.exit()).as(run.out()).isEqualTo(ExitCode.NO);
    }

    @Test
    void aClassWithoutItDoesNotTakeIt() throws IOException {
        assertThat(logits("mamba2", "5")).isEqualTo(logits("mamba2", "0.001"));
    }

    @Test
    void weightsAreComparedWithoutItAndTheReportSaysSo() throws IOException {
        String source = ConfigurationFolders.golden("hf/nemotron_h_nomoe").toString();
        String megatron = folder.resolve("megatron").toString();
        CommandRun.of("convert", source, megatron, "--to", "megatron");

        CommandRun across = CommandRun.of("verify", source, megatron, "--device", "cpu");
        CommandRun same = CommandRun.of("verify", source, source, "--device", "cpu");

        assertThat(across.exit()).as(across.out()).isEqualTo(ExitCode.OK);
        assertThat(across.out()).contains("layers are compared without time_step_min 0.001");
        assertThat(same.exit()).isEqualTo(ExitCode.OK);
        assertThat(same.out()).doesNotContain("time_step_min");
    }

    @Test
    void twoFloorsAreTwoFunctions() throws IOException {
        Path other = ConfigurationFolders.copy("hf/zamba2", folder.resolve("other"));
        ConfigurationFolders.set(other, "time_step_min", "0.002");

        CommandRun run = CommandRun.of(
                "verify", ConfigurationFolders.golden("hf/zamba2").toString(), other.toString(), "--device", "cpu");

        assertThat(run.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(run.out()).contains("time_step_min is 0.001 in the first checkpoint and 0.002 in the second");
    }

    private static double distance(double[] a, double[] b) {
        assertThat(a).hasSameSizeAs(b);
        double worst = 0;
        double scale = 0;
        for (int i = 0; i < a.length; i++) {
            worst = Math.max(worst, Math.abs(a[i] - b[i]));
            scale = Math.max(scale, Math.abs(b[i]));
        }
        return worst / scale;
    }
}
