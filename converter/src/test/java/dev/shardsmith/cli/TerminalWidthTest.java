package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Nothing that is printed on a terminal of 80 columns is wider, but for single words such as paths. */
final class TerminalWidthTest {
    private static final int COLUMNS = 80;
    private static final Map<String, String> TERMINAL =
            Map.of("SHARDSMITH_TERMINAL", "out err", "COLUMNS", "" + COLUMNS, "TERM", "xterm");

    @TempDir
    private static Path folder;

    private static Stream<Arguments> conversions() {
        Path plain = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        Path experts = TestData.path("megatron-legacy", "current_moe_swiglu_tied", "tp2pp1");
        Path older = TestData.path("megatron-legacy", "older_plain_bf16", "tp4pp2");
        Path distributed = TestData.path("megatron-torch-dist", "optim_fp32main_tp2");
        Path huggingFace = TestData.path("hf", "nemotron_h_nomoe_bf16");
        return Stream.of(
                Arguments.of(plain, "--tp 1 --pp 1"),
                Arguments.of(plain, "--tp 2 --pp-layers 1,2,1"),
                Arguments.of(plain, "--to torch_dist"),
                Arguments.of(plain, "--to huggingface"),
                Arguments.of(plain, "--to safetensors --dtype fp32"),
                Arguments.of(plain, "--drop-layers M"),
                Arguments.of(plain, "--tp 3"),
                Arguments.of(plain, "--tp 1 --pp 1 --pad-vocab-to 1024 --set a_field_that_no_checkpoint_has=1"),
                Arguments.of(experts, "--tp 1"),
                Arguments.of(experts, "--tp 2 --ep 2"),
                Arguments.of(experts, "--to mamba_ssm"),
                Arguments.of(older, "--tp 1 --pp 1 --conv1d-naming new"),
                Arguments.of(distributed, "--tp 1 --optimizer drop"),
                Arguments.of(distributed, "--tp 1 --optimizer keep"),
                Arguments.of(huggingFace, "--to megatron --tp 2"));
    }

    @ParameterizedTest
    @MethodSource("conversions")
    void conversionsAndTheirPlansFitIntoTheTerminal(Path source, String options) {
        fits(source, "plan", options + " --force -o " + folder.resolve("plan"));
        fits(source, "convert", options + " --force");
    }

    private static void fits(Path source, String command, String options) {
        Path target = folder.resolve("target");
        List<String> words = new ArrayList<>(List.of(command, source.toString(), target.toString()));
        words.addAll(List.of(options.split(" ")));
        assertFits(CommandRun.with(TERMINAL, words.toArray(String[]::new)));
    }

    private static void assertFits(CommandRun run) {
        String shown = (run.out() + run.err()).replaceAll("\u001b\\[[0-9;?]*[a-zA-Z]", "");
        assertThat(shown).isNotBlank();
        // The length of a path is not ours, and what has no blank is not broken.
        shown = shown.replace(folder.toString(), "/tmp").replace(TestData.path().toString(), "/home");
        assertThat(shown.split("[\r\n]+"))
                .allSatisfy(line ->
                        assertThat(line.strip().contains(" ") ? line : "").hasSizeLessThanOrEqualTo(COLUMNS));
    }

    @Test
    void otherReportsFitIntoTheTerminal() {
        String plain =
                TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2").toString();
        String experts = TestData.path("megatron-legacy", "current_moe_swiglu_tied", "tp2pp1")
                .toString();
        for (String path : List.of(plain, experts)) {
            assertFits(CommandRun.with(TERMINAL, "inspect", path));
            assertFits(CommandRun.with(TERMINAL, "inspect", path, "--tensors"));
            assertFits(CommandRun.with(TERMINAL, "inspect", path, "--stats"));
            assertFits(CommandRun.with(TERMINAL, "diff", path, plain));
            assertFits(CommandRun.with(TERMINAL, "validate", path));
        }
        assertFits(CommandRun.with(
                TERMINAL,
                "manifest",
                plain,
                "--force",
                "-o",
                folder.resolve("manifest").toString()));
        assertFits(CommandRun.with(
                TERMINAL,
                "manifest",
                experts,
                "--check",
                folder.resolve("manifest").toString()));
    }
}
