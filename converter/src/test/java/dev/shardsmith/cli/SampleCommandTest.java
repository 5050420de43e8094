package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Samples say in their options what they hold. */
final class SampleCommandTest {
    private static final List<String> SHARED =
            List.of("--pattern", "M*E", "--hidden", "32", "--heads", "2", "--experts", "2", "--shared-ffn", "24");

    @TempDir
    Path folder;

    @Test
    void aSharedExpertGoesToNemotron() throws IOException {
        String sample = sample();
        Path out = folder.resolve("out");
        CommandRun convert = CommandRun.of("convert", sample, out.toString(), "--to", "huggingface");
        assertThat(convert.exit()).as(convert.err()).isEqualTo(ExitCode.OK);
        JsonNode config = new ObjectMapper().readTree(out.resolve("config.json").toFile());
        assertThat(config.get("moe_shared_expert_intermediate_size").asInt()).isEqualTo(24);
        assertThat(config.get("n_shared_experts").asInt()).isEqualTo(1);
        assertThat(CommandRun.of("validate", out.toString()).exit()).isEqualTo(ExitCode.OK);
    }

    /** Only models with gated MLPs weigh what their shared expert gives. */
    @Test
    void aSharedExpertOfGatedMlpsIsWeighed() {
        String gate = "decoder.layers.2.mlp.shared_experts.gate_weight";
        assertThat(names(sample())).doesNotContain(gate);
        String gated = sample("--gated");
        assertThat(names(gated)).contains(gate);
        CommandRun option = CommandRun.of("inspect", gated, "--objects", "args.moe_shared_expert_gate");
        assertThat(option.out()).contains("args.moe_shared_expert_gate = True");
    }

    private String sample(String... more) {
        Path path = folder.resolve("sample" + more.length);
        List<String> words = new ArrayList<>(List.of("sample", path.toString()));
        words.addAll(SHARED);
        words.addAll(List.of(more));
        CommandRun run = CommandRun.of(words.toArray(String[]::new));
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        return path.toString();
    }

    private static List<String> names(String checkpoint) {
        return CommandRun.of("inspect", checkpoint, "--json")
                .json()
                .get("tensors")
                .findValuesAsText("name");
    }
}
