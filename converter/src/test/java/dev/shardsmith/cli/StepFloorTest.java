package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.NpyFile;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The least time step that transformers gives NemotronH and Zamba2, and Megatron does not. */
final class StepFloorTest {
    @TempDir
    Path folder;

    private double[] logits(String golden, String floor) throws IOException {
        Path model = ConfigurationFolders.copy("hf/" + golden, folder.resolve("floor" + floor));
        ConfigurationFolders.set(model, "time_step_min", floor);
        Path logits = folder.resolve("logits" + floor + ".npy");
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
