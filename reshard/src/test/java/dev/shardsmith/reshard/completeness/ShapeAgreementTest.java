package dev.shardsmith.reshard.completeness;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpenOptions;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Shapes that do not fit the others are found, and real models fit. */
class ShapeAgreementTest {
    @ParameterizedTest
    @MethodSource("dev.shardsmith.reshard.completeness.CompletenessTest#checkpoints")
    void whatRealLibrariesWroteFits(Path root) throws Exception {
        try (ModelView view = Checkpoints.open(root, OpenOptions.defaults())) {
            assertThat(ShapeAgreement.problems(view)).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ME*-GM", "M+-E+G", "MM/*-"})
    void samplesFit(String pattern) throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of(pattern, 64, DType.F32, 1))) {
            assertThat(ShapeAgreement.problems(view)).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "decoder.final_norm.weight",
                "decoder.layers.0.mixer.D",
                "decoder.layers.0.mixer.norm.weight",
                "decoder.layers.0.mixer.out_proj.weight",
                "decoder.layers.0.mixer.conv1d_bias",
                "decoder.layers.1.mlp.experts.linear_fc2.weight5",
                "decoder.layers.1.mlp.router.weight",
                "decoder.layers.1.mlp.router.expert_bias",
                "decoder.layers.2.self_attention.linear_proj.weight",
                "decoder.layers.3.mlp.linear_fc1.weight",
                "decoder.layers.3.mlp.linear_fc2.weight",
                "output_layer.weight"
            })
    void oneRowLessOrOneDimensionMoreIsFound(String name) throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of("ME*-", 64, DType.F32, 1))) {
            Shape shape = view.tensors().get(name).shape();
            Shape shorter = shape.with(0, shape.size(0) - 1);
            Shape longer = shape.rank() == 1 ? Shape.of(shape.size(0), 1) : Shape.of(1, shape.size(0), shape.size(1));

            assertThat(with(view, name, shorter)).anyMatch(problem -> problem.contains(name));
            assertThat(with(view, name, longer))
                    .anyMatch(problem ->
                            problem.startsWith(name + " " + longer + " has " + longer.rank() + " dimensions"));
        }
    }

    @Test
    void whatDoesNotFitIsNamedWithWhatItIsHeldAgainst() throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of("M-", 64, DType.F32, 1))) {
            assertThat(with(view, "decoder.layers.0.mixer.D", Shape.of(3)))
                    .containsExactly(
                            "decoder.layers.0.mixer.D [3] has 3 where decoder.layers.0.mixer.dt_bias [2] has 2");
        }
    }

    private static List<String> with(ModelView view, String name, Shape shape) throws Exception {
        ModelViewBuilder builder = new ModelViewBuilder(view.path(), view.files(), view.layout())
                .family(view.family())
                .state(view.state());
        byte[] bytes = new byte[Math.toIntExact(4 * shape.elements())];
        StoredTensor data = StoredTensor.contiguous(name, DType.F32, shape, ByteSource.of(name, bytes), 0);
        view.tensors()
                .forEach((key, tensor) -> builder.add(key.equals(name) ? LogicalTensor.whole(name, data) : tensor));
        return ShapeAgreement.problems(builder.build());
    }
}
