package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.layout.Conversion;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.check.CheckOptions;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.ForwardCheck;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class CheckpointModelsTest {

    @ParameterizedTest
    @CsvSource({
        "megatron-legacy/older_plain_bf16/tp1pp1, megatron-legacy/older_plain_bf16/tp4pp2",
        "megatron-legacy/older_plain_bf16/tp1pp2, megatron-legacy/older_plain_bf16/tp2pp2",
        "megatron-legacy/current_plain_bf16/tp1pp1, megatron-legacy/current_plain_bf16/tp2pp2",
        "megatron-legacy/current_moe_swiglu_tied/tp1pp1, megatron-legacy/current_moe_swiglu_tied/tp2pp1",
        "megatron-torch-dist/plain_bf16_tp2pp2, megatron-legacy/current_plain_bf16/tp2pp1",
        "megatron-torch-dist/swiglu_float16module_tp2pp1, megatron-legacy/current_swiglu_float16module/tp2pp1",
        "megatron-torch-dist/moe_swiglu_tied_tp2pp1, megatron-legacy/current_moe_swiglu_tied/tp1pp1"
    })
    void divisionsOfOneModelComputeTheSame(String left, String right) throws Exception {
        try (ModelView a = Checkpoints.open(path(left), OpenOptions.defaults());
                ModelView b = Checkpoints.open(path(right), OpenOptions.defaults())) {
            LayeredModel first = CheckpointModels.of(a, Map.of());
            LayeredModel second = CheckpointModels.of(b, Map.of());
            CheckReport report = new ForwardCheck(new CpuBackend(), first, second, CheckOptions.DEFAULT).run(row -> {});
            assertThat(report.firstDivergence()).isEmpty();
            assertThat(report.rows()).hasSize(6);
        }
    }

    @ParameterizedTest
    @EnumSource(ExpertForm.class)
    void expertsOnFewerTensorRanksComputeTheSameInEveryForm(ExpertForm form, @TempDir Path folder) throws Exception {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.tensor = OptionalInt.of(2);
        options.expert = OptionalInt.of(2);
        options.expertTensor = OptionalInt.of(1);
        options.experts = Optional.of(form);
        Path out = folder.resolve("out");
        try (ModelView a =
                Checkpoints.open(path("megatron-legacy/current_moe_swiglu_tied/tp1pp1"), OpenOptions.defaults())) {
            PlanExecutor.execute(Conversion.plan(a, options.build()), out, ExecutionOptions.defaults());
            try (ModelView b = Checkpoints.open(out, OpenOptions.defaults())) {
                LayeredModel first = CheckpointModels.of(a, Map.of());
                LayeredModel second = CheckpointModels.of(b, Map.of());
                CheckReport report =
                        new ForwardCheck(new CpuBackend(), first, second, CheckOptions.DEFAULT).run(row -> {});
                assertThat(report.firstDivergence()).isEmpty();
            }
        }
    }

    private static Path path(String name) {
        return TestData.path(name.split("/"));
    }
}
