package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.check.CheckOptions;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.ForwardCheck;
import dev.shardsmith.verify.check.LayerRow;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checkpoints that Megatron-LM itself wrote at several tensor-parallel sizes. */
final class MegatronModelsTest {

    @ParameterizedTest
    @CsvSource({
        "current_plain_bf16, 4, 4, 8, false",
        "current_swiglu_float16module, 4, 4, 8, true",
        "current_moe_swiglu_tied, 4, 2, 8, true",
        "older_plain_fp32, 4, 2, 4, false"
    })
    void shardsOfTwoRanksComputeWhatOneRankComputes(String name, int heads, int groups, int state, boolean swiglu)
            throws Exception {
        try (FilePool pool = new FilePool()) {
            CheckReport report = check(pool, name, heads, groups, state, swiglu);
            assertThat(report.firstDivergence()).isEmpty();
            assertThat(report.rows()).hasSize(6);
        }
    }

    @Test
    void nvidiasConverterCutsGatedProjectionsAsOneBlockAndIsFoundOut() throws Exception {
        try (FilePool pool = new FilePool()) {
            CheckReport report = check(pool, "older_swiglu_float16module", 4, 4, 8, true);
            LayerRow wrong = report.firstDivergence().orElseThrow();
            assertThat(wrong.kind()).isEqualTo("mlp");
            assertThat(wrong.layer()).contains(2);
            assertThat(wrong.explanation()).contains("the gated projection was cut over ranks as one block");
            assertThat(report.rows().stream().filter(row -> !row.ok())).hasSize(1);
        }
    }

    private static CheckReport check(FilePool pool, String name, int heads, int groups, int state, boolean swiglu)
            throws IOException {
        Settings args = new Settings(
                name,
                Map.of(
                        "num_attention_heads", heads,
                        "num_query_groups", groups,
                        "mamba_state_dim", state,
                        "swiglu", swiglu,
                        "normalization", "RMSNorm"));
        LayeredModel one = MegatronModels.of(args, ranks(pool, TestData.path("megatron-legacy", name, "tp1pp1")), 1);
        LayeredModel two = MegatronModels.of(args, ranks(pool, TestData.path("megatron-legacy", name, "tp2pp1")), 2);
        return new ForwardCheck(new CpuBackend(), one, two, CheckOptions.DEFAULT).run(row -> {});
    }

    private static List<NamedWeights> ranks(FilePool pool, Path folder) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(folder)) {
            files = all.filter(file -> file.endsWith("model_optim_rng.pt"))
                    .sorted()
                    .toList();
        }
        List<NamedWeights> ranks = new ArrayList<>();
        for (Path file : files) {
            ranks.add(Folders.torch(file, pool, "model."));
        }
        return ranks;
    }
}
