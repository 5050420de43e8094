package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.OptimizerState;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** What a run that is to go on needs of the optimizer's state. */
class OptimizerFindingTest {
    private static final Path SAVED = TestData.path("megatron-torch-dist", "optim_fp32main_tp2", "iter_0000012");

    @Test
    void aTensorThatIsNotThereIsAnError() throws Exception {
        OptimizerState state =
                OptimizerState.incomplete("fully_reshardable", "optimizer.state.exp_avg.output_layer.weight");

        assertThat(codes(state, ValidateOptions.Optimizer.WANTED)).containsExactly("optimizer.incomplete");
        assertThat(codes(state, ValidateOptions.Optimizer.NOT_NEEDED)).isEmpty();
    }

    @Test
    void wholeStateOfAnyFormIsNone() throws Exception {
        try (ModelView view = Checkpoints.open(SAVED, OpenOptions.defaults())) {
            assertThat(codes(view.optimizerState(), ValidateOptions.Optimizer.WANTED))
                    .isEmpty();
        }
        OptimizerState bound = OptimizerState.bound("dp_reshardable", "its tensors are flat buffers");
        assertThat(codes(bound, ValidateOptions.Optimizer.WANTED)).isEmpty();
    }

    private static List<String> codes(OptimizerState state, ValidateOptions.Optimizer wanted) throws IOException {
        ValidateOptions options = new ValidateOptions(
                Optional.empty(),
                Optional.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                ValidateOptions.Values.SKIP,
                wanted,
                1);
        try (ModelView saved = Checkpoints.open(SAVED, OpenOptions.defaults());
                FilePool pool = new FilePool()) {
            ModelViewBuilder view = new ModelViewBuilder(saved.path(), pool, saved.layout()).family(saved.family());
            saved.tensors().values().forEach(view::add);
            view.state(saved.state()).optimizerState(() -> state);
            return Validator.validate(view.build(), options).findings().stream()
                    .map(Finding::code)
                    .filter(code -> code.startsWith("optimizer"))
                    .toList();
        }
    }
}
