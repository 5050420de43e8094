package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.CountedWeights;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranks that share tensors in a way that no rule knows: no command passes the first rank's off as the model's. */
final class UnknownSharesTest {
    @TempDir
    Path folder;

    private String ranks;

    @BeforeEach
    void write() throws IOException {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("backbone.norm_f.weight", new long[] {6});
        shapes.put("backbone.adapter.weight", new long[] {2, 6});
        for (int rank = 0; rank < 2; rank++) {
            int first = 100 * rank;
            CountedWeights.write(
                    folder.resolve("ranks/rank_" + rank + ".safetensors"), shapes, i -> i < 6 ? i : first + i);
        }
        ranks = folder.resolve("ranks").toString();
    }

    @Test
    void whatSpeaksOfAllTensorsRefusesAndNamesTheRule() {
        String manifest = folder.resolve("m").toString();
        for (List<String> line : List.of(
                List.of("manifest", ranks, "-o", manifest),
                List.of("manifest", ranks, "--json"),
                List.of("diff", ranks, ranks),
                List.of("inspect", ranks, "--stats"))) {
            CommandRun run = CommandRun.of(line.toArray(String[]::new));
            assertThat(run.exit()).as("%s", line).isEqualTo(ExitCode.USAGE);
            assertThat(run.err())
                    .contains("how the ranks share these parameters: backbone.adapter.weight")
                    .contains("--rule 'backbone.adapter.weight=replicate'");
        }
        assertThat(folder.resolve("m")).doesNotExist();
        CommandRun.of("manifest", ranks, "-o", manifest, "--rule", "*.adapter.weight=column");
        assertThat(CommandRun.of("manifest", "--check", manifest, ranks).exit()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void withTheRuleAllRanksAreCovered() {
        String rule = "*.adapter.weight=column";
        String manifest = folder.resolve("m").toString();

        CommandRun made = CommandRun.of("manifest", ranks, "-o", manifest, "--rule", rule, "--json");

        assertThat(made.exit()).as(made.err()).isEqualTo(ExitCode.OK);
        assertThat(made.json().get("tensors").get(0).get("shape").toString()).isEqualTo("[4,6]");
        assertThat(made.json().get("tensors").get(0).at("/statistics/max").asDouble())
                .isEqualTo(117);
        assertThat(CommandRun.of("manifest", "--check", manifest, ranks, "--rule", rule)
                        .exit())
                .isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("diff", ranks, ranks, "--rule", rule).exit()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("inspect", ranks, "--stats", "--rule", rule).exit())
                .isEqualTo(ExitCode.OK);
    }

    @Test
    void whatReadsNoTensorStillListsAndWarns() {
        CommandRun run = CommandRun.of("inspect", ranks);

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.err()).contains("no rule says how ranks share it");
    }
}
